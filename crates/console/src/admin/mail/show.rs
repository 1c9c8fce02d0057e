//! Page of an email in the outbox.

use pia_kernel::MailId;
use pia_outbox::{MailRecord, MailState};
use pia_web::{ApiError, PathId, Route};
use uuid::Uuid;

use super::{KIND, NEXT, QUEUED, TITLE, TO, next_cell, state_cell, templates, to_cell};
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::proof::ProvedForm;
use crate::routes::pages::{form, page};
use crate::texts::common;
use crate::ui::{Cell, Form, Section, Text, View, format};

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/admin/mail/{id}", |it| it.to(show)),
        form("/admin/mail/{id}/retry", |it| it.to(retry)),
        form("/admin/mail/{id}/discard", |it| it.to(discard)),
    ]
}

async fn show(page: PageContext, PathId(id): PathId) -> PageResult {
    let view = mail_view(&page, id).await?;
    Ok(page.render(view))
}

async fn retry(page: PageContext, PathId(id): PathId, _: FormFields) -> PageResult {
    let by = page.user();
    match page.run(|api| async move { api.mails.retry(by, MailId(id)).await }).await {
        Ok(()) => page.done("admin/mail", "queued"),
        Err(err) => page.refuse(mail_view(&page, id).await?, err),
    }
}

async fn discard(page: PageContext, PathId(id): PathId, _: ProvedForm) -> PageResult {
    let by = page.user();
    match page.run(|api| async move { api.mails.discard(by, MailId(id)).await }).await {
        Ok(()) => page.done("admin/mail", "deleted"),
        Err(err) => page.refuse(mail_view(&page, id).await?, err),
    }
}

async fn mail_view(page: &PageContext, id: Uuid) -> Result<View, ApiError> {
    let mail = page.run(|api| async move { api.mails.find(MailId(id)).await }).await?;
    let name = templates::name(page, &mail.template);
    let mut view = View::new(&name)
        .below(page.t(TITLE), "admin/mail")
        .section(facts_section(page, &mail, name));
    let path = format!("admin/mail/{id}");

    if mail.state() != MailState::Failed {
        let retry = Form::new(format!("{path}/retry"), page.t(RETRY));
        let section = Section::new("retry", page.t(RETRY)).intro(page.t(RETRY_HINT));
        view = view.section(section.form(retry));
    }

    let discard = Form::new(format!("{path}/discard"), page.t(DISCARD)).danger();
    let section = Section::new("discard", page.t(DISCARD)).intro(page.t(DISCARD_HINT));

    Ok(view.section(section.form(discard)))
}

fn facts_section(page: &PageContext, mail: &MailRecord, name: String) -> Section {
    let time = |at| Cell::text(format::time(page.language, at));
    let next_or_failed = match mail.failed_at {
        Some(at) => (page.t(FAILED_AT), time(at)),
        None => (page.t(NEXT), next_cell(page, mail)),
    };
    let facts = [
        (page.t(KIND), Cell::text(name)),
        (page.t(TO), to_cell(page, mail)),
        (page.t(common::STATUS), state_cell(page, mail, page.api.clock.now())),
        (page.t(QUEUED), time(mail.queued_at)),
        (page.t(TRIES), Cell::text(format::number(page.language, mail.tries))),
        next_or_failed,
    ];

    let section = Section::new("mail", "").facts(facts);
    if mail.failed_at.is_some() { section.paragraph(page.t(ABANDONED)) } else { section.live(true) }
}

const TRIES: Text = Text::new("Attempts", "Versuche");
const FAILED_AT: Text = Text::new("Abandoned", "Aufgegeben");
const ABANDONED: Text = Text::new(
    "Its content was deleted because it may have contained a link that gives access to an account. \
     It cannot be sent again: ask the recipient to request it again, or repeat the action that \
     sent it.",
    "Ihr Inhalt wurde gelöscht, weil er einen Link mit Zugang zu einem Konto enthalten konnte. Sie \
     lässt sich nicht noch einmal senden: Bitten Sie die Person, sie erneut anzufordern, oder \
     wiederholen Sie die Aktion, die sie ausgelöst hat.",
);
const RETRY: Text = Text::new("Send now", "Jetzt senden");
const RETRY_HINT: Text = Text::new(
    "Tries again now instead of waiting for the next attempt.",
    "Versucht es jetzt, statt auf den nächsten Versuch zu warten.",
);
const DISCARD: Text = Text::new("Discard email", "E-Mail verwerfen");
const DISCARD_HINT: Text = Text::new(
    "The email is deleted and never sent. This can’t be undone.",
    "Die E-Mail wird gelöscht und nie gesendet. Das lässt sich nicht rückgängig machen.",
);
