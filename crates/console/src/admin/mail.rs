//! Outbox of emails, without their contents.

mod show;
mod templates;

use pia_kernel::{Page, Timestamp, UserId};
use pia_outbox::{MailCounts, MailRecord, MailState};
use pia_web::{ApiError, Route};

use super::person_filter::{PersonFilter, UnknownPerson};
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::{form, page};
use crate::texts::common;
use crate::ui::table::Tone;
use crate::ui::view::Link;
use crate::ui::{Cell, Field, Form, Row, Search, Section, Table, Text, View, format};

pub(super) fn routes() -> Vec<Route> {
    let mut routes = vec![
        page("/admin/mail", |it| it.to(list)),
        form("/admin/mail/test", |it| it.to(send_test)),
    ];
    routes.extend(show::routes());
    routes
}

async fn list(page: PageContext) -> PageResult {
    let view = list_view(&page).await?;
    Ok(page.render(view))
}

async fn send_test(page: PageContext, _: FormFields) -> PageResult {
    let by = page.user();
    match page.run(|api| async move { api.mails.send_test(by).await }).await {
        Ok(()) => page.done("admin/mail", "test-queued"),
        Err(err) => page.refuse(list_view(&page).await?, err),
    }
}

async fn list_view(page: &PageContext) -> Result<View, ApiError> {
    let queue = queue_table(page).await?;
    let counts = page.run(|api| async move { api.mails.counts().await }).await?;
    let is_sending = counts.waiting > 0 || counts.postponed > 0;
    let facts = facts_section(page, counts).live(is_sending);
    let queue_section = Section::new("queue", page.t(QUEUE)).table(queue).live(is_sending);

    let mut view = View::new(page.t(TITLE)).intro(page.t(INTRO)).section(facts);
    if page.api.mails.is_configured() {
        view = view.section(test_section(page));
    }

    Ok(view.section(queue_section))
}

/// Returns the requested page of the outbox, with its filters.
async fn queue_table(page: &PageContext) -> Result<Table, ApiError> {
    let state_name = page.query("state");
    let state = MailState::ALL.into_iter().find(|it| it.name() == state_name);
    let person = PersonFilter::requested(page).await?;
    let emails = find_mails(page, person.user, state).await?;
    let is_filtered = person.is_set || state.is_some();
    let now = page.api.clock.now();

    Ok(Table {
        caption: page.t(QUEUE).to_owned(),
        columns: [KIND, TO, common::STATUS, QUEUED, NEXT].map(|it| page.t(it).into()).into(),
        rows: emails.items.iter().map(|it| mail_row(page, it, now)).collect(),
        empty: page.t(if is_filtered { common::NO_MATCH } else { EMPTY }).to_owned(),
        search: Some(search_form(page, person.field, state, is_filtered)),
        sort_links: page.time_sort_links(3),
        ..page.paged(emails.next)
    })
}

/// Finds the requested page of the emails to a person, or to all, in a state, or
/// in any.
async fn find_mails(
    page: &PageContext,
    person: Result<Option<UserId>, UnknownPerson>,
    state: Option<MailState>,
) -> Result<Page<MailRecord>, ApiError> {
    let Ok(user) = person else {
        return Ok(Page { items: Vec::new(), next: None });
    };
    let order = page.time_order();
    let request = page.paging()?;
    page.run(|api| async move { api.mails.list(user, state, order, request).await }).await
}

/// Returns the link to the settings of email.
pub(super) fn settings_link(page: &PageContext) -> Link {
    Link { label: page.t(SETTINGS).to_owned(), path: "admin/settings?area=email".to_owned() }
}

fn test_section(page: &PageContext) -> Section {
    let form = Form::new("admin/mail/test", page.t(SEND_TEST));
    Section::new("test", page.t(TEST)).intro(page.t(TEST_INTRO)).form(form)
}

fn facts_section(page: &PageContext, counts: MailCounts) -> Section {
    let mails = &page.api.mails;
    let relay = if mails.is_configured() {
        Cell::badge(page.t(CONFIGURED), Tone::Good)
    } else {
        Cell::badge(page.t(NOT_CONFIGURED), Tone::Warning).detail(page.t(NOT_CONFIGURED_HINT))
    };

    let MailCounts { waiting, postponed, failed } = counts;
    let number = |it: u64| Cell::text(format::number(page.language, it));
    let facts = [
        (page.t(RELAY), relay),
        (page.t(state_text(MailState::Waiting)), number(waiting)),
        (page.t(state_text(MailState::Postponed)), number(postponed)),
        (page.t(state_text(MailState::Failed)), number(failed)),
        (page.t(SENT), number(mails.tally().all_sent()).detail(page.t(SENT_HINT))),
    ];
    Section::new("state", "").facts(facts).links(vec![settings_link(page)])
}

fn mail_row(page: &PageContext, mail: &MailRecord, now: Timestamp) -> Row {
    let kind = templates::name(page, &mail.template);
    Row::new(vec![
        Cell::link(kind, format!("admin/mail/{}", mail.id)),
        to_cell(page, mail),
        state_cell(page, mail, now),
        Cell::text(format::time(page.language, mail.queued_at)),
        next_cell(page, mail),
    ])
}

/// Returns the recipient. The address of an abandoned email is erased: if it was to an
/// account, the account's current address is displayed.
fn to_cell(page: &PageContext, mail: &MailRecord) -> Cell {
    match (&mail.address, mail.user) {
        (Some(address), Some(user)) => {
            let is_abandoned = mail.state() == MailState::Failed;
            let detail = if is_abandoned { page.t(CURRENT_ADDRESS) } else { "" };
            Cell::link(address, format!("admin/users/{user}")).detail(detail)
        }
        (Some(address), None) => Cell::text(address),
        (None, _) => Cell::text(page.t(ERASED)),
    }
}

/// Returns the state of an email, with the reason of the last failure.
pub(super) fn state_cell(page: &PageContext, mail: &MailRecord, now: Timestamp) -> Cell {
    if mail.is_claimed(now) {
        return Cell::badge(page.t(SENDING), Tone::Neutral);
    }
    let tone = match mail.state() {
        MailState::Waiting => Tone::Neutral,
        MailState::Postponed => Tone::Warning,
        MailState::Failed => Tone::Bad,
    };
    let cell = Cell::badge(page.t(state_text(mail.state())), tone);
    cell.quoted(page.t(common::REPORTED), mail.failure.as_deref())
}

fn next_cell(page: &PageContext, mail: &MailRecord) -> Cell {
    match mail.state() {
        MailState::Failed => Cell::default(),
        _ => Cell::text(format::time(page.language, mail.due_at)),
    }
}

fn state_text(state: MailState) -> Text {
    match state {
        MailState::Waiting => Text::new("Waiting", "Wartet"),
        MailState::Postponed => Text::new("Retrying", "Neuer Versuch folgt"),
        MailState::Failed => Text::new("Failed", "Fehlgeschlagen"),
    }
}

fn search_form(
    page: &PageContext,
    person: Field,
    state: Option<MailState>,
    is_filtered: bool,
) -> Search {
    let options = MailState::ALL.map(|it| (it.name(), page.t(state_text(it))));
    let options_and_all = [("", page.t(ALL))].into_iter().chain(options);
    let selected = state.map_or("", MailState::name);
    let states = Field::select("state", page.t(common::STATUS), options_and_all, selected);
    let reset =
        Link { label: page.t(common::RESET_FILTERS).to_owned(), path: "admin/mail".to_owned() };

    Search {
        label: page.t(QUEUE).to_owned(),
        fields: [person, states.optional()].into_iter().chain(page.sort_field()).collect(),
        submit: page.t(common::SEARCH).to_owned(),
        reset: is_filtered.then_some(reset),
    }
}

const TITLE: Text = Text::new("Email", "E-Mail");
const INTRO: Text = Text::new(
    "Emails that are waiting to be sent or could not be sent. Sent emails are deleted at once.",
    "E-Mails, die auf den Versand warten, und solche, die sich nicht senden ließen. Gesendete \
     werden sofort gelöscht.",
);
const EMPTY: Text = Text::new(
    "No email is waiting, and none has failed.",
    "Keine E-Mail wartet, und keine ist fehlgeschlagen.",
);
const RELAY: Text = Text::new("Mail server", "Mailserver");
const CONFIGURED: Text = Text::new("Configured", "Eingerichtet");
const NOT_CONFIGURED: Text = Text::new("Not configured", "Nicht eingerichtet");
const NOT_CONFIGURED_HINT: Text = Text::new(
    "No emails are sent. Set up a mail server under First steps.",
    "Es werden keine E-Mails gesendet. Richten Sie unter „Erste Schritte“ einen Mailserver ein.",
);
const QUEUE: Text = Text::new("Outbox", "Postausgang");
const SENT: Text = Text::new("Sent", "Gesendet");
const SENT_HINT: Text = Text::new(
    "By this instance of the server, since it started",
    "Von dieser Instanz des Servers seit ihrem Start",
);
const TEST: Text = Text::new("Test", "Test");
const TEST_INTRO: Text = Text::new(
    "Sends an email to your own address, in the same way as all others.",
    "Sendet eine E-Mail an Ihre eigene Adresse, auf demselben Weg wie alle anderen.",
);
const SEND_TEST: Text = Text::new("Send test email", "Test-E-Mail senden");
const SETTINGS: Text = Text::new("Change email settings", "E-Mail-Einstellungen ändern");
const KIND: Text = Text::new("Email", "E-Mail");
const TO: Text = Text::new("To", "An");
const ERASED: Text = Text::new("Erased", "Gelöscht");
const CURRENT_ADDRESS: Text =
    Text::new("Current address of the account", "Aktuelle Adresse des Kontos");
const QUEUED: Text = Text::new("Queued", "In der Warteschlange seit");
const NEXT: Text = Text::new("Next attempt", "Nächster Versuch");
const SENDING: Text = Text::new("Being sent", "Wird gesendet");
const ALL: Text = Text::new("All", "Alle");
