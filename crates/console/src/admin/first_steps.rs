//! First steps after the installation: a list that administrators can leave and
//! return to. A step is done when the server is in its state, even if the change
//! was not made on this page.
//!
//! Steps have no state of their own: each request loads the state of the server
//! and derives them from it. The form of a step changes settings or creates a
//! group, and returns to this page. The overview calls `count_open`.

mod people;
mod server;
mod services;

use std::collections::HashMap;

use pia_kernel::UserId;
use pia_outbox::MailRecord;
use pia_policy::{BlankMeaning, Feature, ListedSetting, RunningSetting};
use pia_web::{ApiError, Route};

use super::bindings::{find_emails, user_cell};
use super::models::test_call;
use super::settings;
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::proof::ProvedForm;
use crate::routes::pages::{form, page};
use crate::texts::common;
use crate::texts::field_errors::{at_fields, field_error, or_gone};
use crate::ui::table::Tone;
use crate::ui::{Cell, Row, Section, Table, Text, View, format};

/// Path of the page.
pub(super) const PATH: &str = "admin/first-steps";
/// Fields of the forms that may be empty.
const OPTIONAL_FIELDS: [&str; 5] = ["port", "username", "password", "endpoint", "key"];

/// State of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StepState {
    /// Server is in the state of the step.
    Done,
    /// Step must be done.
    Open,
    /// Step was done, but does not hold any more: its last test failed, or its licence expired.
    Attention,
    /// Step may be left out.
    Optional,
    /// Step whose feature the licence does not include.
    NotLicensed,
}

/// Step with its section of the page.
struct FirstStep {
    id: &'static str,
    title: Text,
    state: StepState,
    section: Section,
}

/// State of the server that the steps are derived from.
struct ServerState {
    settings: Vec<ListedSetting>,
    /// Email addresses of those who changed settings in the console.
    emails: HashMap<UserId, String>,
    /// Number of groups.
    groups: usize,
    /// Email address of the administrator.
    email: String,
    /// True if more than a password protects the administrator's sign-in.
    is_protected: bool,
    /// Test email to the administrator since the relay was changed, unless it was sent.
    unsent_test: Option<MailRecord>,
    /// True if an email since the relay was changed is tried again.
    is_retrying_email: bool,
}

pub(super) fn routes() -> Vec<Route> {
    let licensed = |feature, route| Route { feature: Some(feature), ..route };
    vec![
        page("/admin/first-steps", |it| it.to(show)),
        form("/admin/first-steps/email", |it| it.to(set_up_email)),
        form("/admin/first-steps/test-email", |it| it.to(send_test_email)),
        licensed(
            Feature::AiProxy,
            form("/admin/first-steps/provider", |it| it.to(set_up_provider)),
        ),
        licensed(Feature::AiProxy, form("/admin/first-steps/test-call", |it| it.to(test_model))),
        form("/admin/first-steps/registration", |it| it.to(set_registration)),
        licensed(
            Feature::GroupManagement,
            form("/admin/first-steps/group", |it| it.to(create_group)),
        ),
    ]
}

/// Returns the number of steps that are not done, though required, or that need
/// attention, on a server with this many groups.
pub(super) async fn count_open(page: &PageContext, groups: usize) -> Result<usize, ApiError> {
    let steps = list_steps(page, &ServerState::load(page, groups).await?)?;
    let is_left = |it: StepState| matches!(it, StepState::Open | StepState::Attention);
    Ok(steps.iter().filter(|it| is_left(it.state)).count())
}

async fn show(page: PageContext) -> PageResult {
    let view = steps_view(&page).await?;
    Ok(page.render(view))
}

async fn set_up_email(page: PageContext, ProvedForm(fields): ProvedForm) -> PageResult {
    let state = ServerState::load(&page, 0).await?;
    if services::email_state(&page, &state) == StepState::Done {
        // Another administrator has set it up meanwhile.
        return page.redirect(PATH);
    }
    change_settings(&page, &state, &fields, &services::EMAIL_SETTINGS).await
}

async fn set_up_provider(page: PageContext, ProvedForm(fields): ProvedForm) -> PageResult {
    let models = page.api.models.list();
    if services::chat_model(&models).is_some_and(|it| !services::may_be_corrected(it)) {
        // Another administrator has set it up meanwhile.
        return page.redirect(PATH);
    }
    let state = ServerState::load(&page, 0).await?;
    change_settings(&page, &state, &fields, &services::PROVIDER_SETTINGS).await
}

async fn set_registration(page: PageContext, ProvedForm(fields): ProvedForm) -> PageResult {
    let state = ServerState::load(&page, 0).await?;
    change_settings(&page, &state, &fields, &[("policy", "LocalAuth:Registration")]).await
}

/// Sets settings to the values of fields, given as pairs of a field and a key.
/// An optional field that is empty removes its value, unless that is secret.
async fn change_settings(
    page: &PageContext,
    state: &ServerState,
    fields: &FormFields,
    keys: &[(&str, &'static str)],
) -> PageResult {
    let is_missing =
        |field: &str| !OPTIONAL_FIELDS.contains(&field) && fields.text(field).is_empty();
    if let Some((field, _)) = keys.iter().find(|it| is_missing(it.0)) {
        let missing = field_error(page.language, *field, common::FILL_IN);
        return finish(page, fields, Err(missing), "saved").await;
    }

    let mut changes = Vec::new();
    for (field, key) in keys {
        let value = typed_value(fields, field).or_else(|| state.removal(key));
        changes.extend(value.map(|it| (*key, it)));
    }
    let by = page.user();
    let changed = page.run(|api| async move { api.settings.set(by, &changes).await }).await;
    finish(page, fields, changed.map_err(|err| at_fields(err, keys)), "saved").await
}

/// Returns the value of a field; `None` if it is empty.
fn typed_value(fields: &FormFields, field: &str) -> Option<String> {
    let trimmed = fields.some(field)?;
    // A password may begin or end with a blank.
    Some(if field == "password" { fields.secret(field).reveal() } else { trimmed })
}

async fn send_test_email(page: PageContext, fields: FormFields) -> PageResult {
    let by = page.user();
    let queued = page.run(|api| async move { api.mails.send_test(by).await }).await;
    match queued {
        Ok(()) => page.done(&format!("{PATH}#email"), "test-queued"),
        Err(err) => page.refuse_typed(steps_view(&page).await?, &fields, err),
    }
}

async fn test_model(page: PageContext, fields: FormFields) -> PageResult {
    let by = page.user();
    let key = fields.text("key").to_owned();
    let result = page.run(|api| async move { api.models.test(by, &key).await }).await;
    let mut view = steps_view(&page).await?;
    match result {
        Ok(test) => {
            view.sections.insert(0, test_call::result_section(&page, &test));
            Ok(page.render(view))
        }
        Err(err) => page.refuse(view, or_gone(page.language, err, "key", MODEL_GONE)),
    }
}

async fn create_group(page: PageContext, fields: FormFields) -> PageResult {
    let by = Some(page.user());
    let name = fields.text("name").to_owned();
    let created = page.run(|api| async move { api.groups.create(by, &name).await.map(drop) }).await;
    finish(&page, &fields, created, "created").await
}

async fn finish(
    page: &PageContext,
    fields: &FormFields,
    result: Result<(), ApiError>,
    done: &str,
) -> PageResult {
    match result {
        Ok(()) => page.done(PATH, done),
        Err(err) => page.refuse_typed(steps_view(page).await?, fields, err),
    }
}

async fn steps_view(page: &PageContext) -> Result<View, ApiError> {
    let group_count = page.run(|api| async move { api.groups.names().await }).await?.len();
    let state = ServerState::load(page, group_count).await?;
    let steps = list_steps(page, &state)?;

    let row = |it: &FirstStep| {
        Row::new(vec![
            Cell::link(page.t(it.title), format!("{PATH}#{}", it.id)),
            it.state.cell(page),
        ])
    };

    let table = Table {
        caption: page.t(TITLE).to_owned(),
        columns: [STEP, common::STATUS].map(|it| page.t(it).into()).into(),
        rows: steps.iter().map(row).collect(),
        ..Table::default()
    };

    let view = View::new(page.t(TITLE))
        .intro(page.t(INTRO))
        .section(Section::new("steps", "").table(table).live(state.is_testing_email()));

    Ok(steps.into_iter().map(|it| it.section).fold(view, View::section))
}

/// Returns the steps in the order of the page.
fn list_steps(page: &PageContext, state: &ServerState) -> Result<[FirstStep; 7], ApiError> {
    Ok([
        server::licence_step(page)?,
        people::administrator_step(page, state),
        server::public_address_step(page, state),
        services::email_step(page, state),
        services::provider_step(page, state)?,
        people::registration_step(page, state),
        people::group_step(page, state)?,
    ])
}

impl ServerState {
    async fn load(page: &PageContext, groups: usize) -> Result<Self, ApiError> {
        let user = page.user();
        let settings = settings::load_settings(page).await?;
        let changed_by = settings.iter().filter_map(|it| it.change.as_ref()?.updated_by);
        let emails = find_emails(page, changed_by).await?;

        let (account, has_more) = page
            .run(|api| async move {
                let account = api.identity.accounts.me(user).await?;
                let has_factor = api.identity.second_factors.overview(user).await?.is_some();
                let has_passkey = !api.identity.passkeys.list(user).await?.is_empty();
                Ok::<_, pia_identity::AccountError>((account, has_factor || has_passkey))
            })
            .await?;
        // Identity providers have rules of their own.
        let is_protected = has_more || account.provider != pia_identity::LOCAL;

        let email_changes = services::EMAIL_SETTINGS
            .iter()
            .filter_map(|(_, key)| find_setting(&settings, key)?.change.as_ref());
        let changed_at = email_changes.map(|it| it.updated_at).max();
        let unsent_test =
            page.run(|api| async move { api.mails.unsent_test(user, changed_at).await }).await?;
        let is_retrying_email =
            page.run(|api| async move { api.mails.is_retrying(changed_at).await }).await?;

        let email = account.email;
        Ok(Self { settings, emails, groups, email, is_protected, unsent_test, is_retrying_email })
    }

    /// Returns whether a test email is still to be sent for the first time.
    fn is_testing_email(&self) -> bool {
        self.unsent_test.as_ref().is_some_and(|it| it.failure.is_none())
    }

    /// Returns whether the last test email failed, or another email is tried again.
    fn has_failed_email(&self) -> bool {
        let is_failed = self.unsent_test.as_ref().is_some_and(|it| it.failure.is_some());
        is_failed || self.is_retrying_email
    }

    /// Returns a setting in force.
    fn setting(&self, key: &str) -> Option<&RunningSetting> {
        self.listed(key).map(|it| &it.setting)
    }

    /// Returns a setting with its last change in the console.
    fn listed(&self, key: &str) -> Option<&ListedSetting> {
        find_setting(&self.settings, key)
    }

    /// Returns the blank value that removes the one of a setting; `None` if there is
    /// nothing to remove, or if it is secret or required.
    fn removal(&self, key: &str) -> Option<String> {
        let setting = self.setting(key)?;
        let may_be_absent = setting.blank == BlankMeaning::Unset && !setting.is_secret;
        (setting.is_set && may_be_absent).then(String::new)
    }

    /// Returns the source of a setting; of one that was changed in the console
    /// also by whom and when.
    fn origin(&self, page: &PageContext, listed: &ListedSetting) -> String {
        let mut parts = vec![page.fill(ORIGIN, &[&settings::source(page, &listed.setting)])];

        if settings::is_of_console(&listed.setting)
            && let Some(change) = &listed.change
        {
            parts.extend(change.updated_by.map(|it| user_cell(page, it, &self.emails).text));
            parts.push(format::time(page.language, change.updated_at));
        }

        parts.join(" · ")
    }

    /// Returns the value of a setting; empty if there is none.
    fn value(&self, key: &str) -> &str {
        self.setting(key).and_then(|it| it.value.as_deref()).unwrap_or_default()
    }

    /// Returns a fact: the value of a setting, and its source if it is set.
    fn fact(&self, page: &PageContext, key: &str) -> Cell {
        let Some(listed) = self.listed(key) else { return Cell::default() };
        match self.value(key) {
            "" => Cell::text(page.t(settings::NOT_SET)),
            value => Cell::text(value).detail(self.origin(page, listed)),
        }
    }

    /// Returns a fact: whether a secret is set, and its source.
    fn secret(&self, page: &PageContext, key: &str) -> Cell {
        match self.listed(key).filter(|it| it.setting.is_set) {
            Some(listed) => Cell::text(page.t(SECRET_SET)).detail(self.origin(page, listed)),
            None => Cell::text(page.t(settings::NOT_SET)),
        }
    }

    /// Returns the hint for the field of a secret.
    fn secret_hint(&self, key: &str) -> Text {
        if self.setting(key).is_some_and(|it| it.is_set) { SECRET_STAYS } else { STORED_ENCRYPTED }
    }
}

/// Returns a setting of a list by its key.
fn find_setting<'a>(settings: &'a [ListedSetting], key: &str) -> Option<&'a ListedSetting> {
    settings.iter().find(|it| it.setting.key == key)
}

/// Takes the source that all these settings have, to be displayed once; empty if they have several.
fn take_common_source(facts: &mut [(&'static str, Cell)]) -> String {
    let mut sources = facts.iter().map(|it| it.1.detail.as_str()).filter(|it| !it.is_empty());
    let source = sources.next().unwrap_or_default().to_owned();
    if sources.any(|it| it != source) {
        return String::new();
    }

    for (_, cell) in facts {
        cell.detail.clear();
    }
    source
}

/// Adds the source of the settings of a section, unless each has its own.
fn add_source(section: Section, source: String) -> Section {
    if source.is_empty() { section } else { section.paragraph(source) }
}

impl FirstStep {
    /// Creates a step, whose section begins with its state.
    fn new(page: &PageContext, id: &'static str, title: Text, state: StepState) -> Self {
        let facts = [(page.t(common::STATUS), state.cell(page))];
        Self { id, title, state, section: Section::new(id, page.t(title)).facts(facts) }
    }

    /// Continues its section.
    fn with(self, extend: impl FnOnce(Section) -> Section) -> Self {
        Self { section: extend(self.section), ..self }
    }
}

impl StepState {
    fn cell(self, page: &PageContext) -> Cell {
        let (text, tone) = match self {
            Self::Done => (Text::new("Done", "Erledigt"), Tone::Good),
            Self::Open => (Text::new("To do", "Zu erledigen"), Tone::Warning),
            Self::Attention => (Text::new("Needs attention", "Prüfung nötig"), Tone::Bad),
            Self::Optional => (Text::new("Optional", "Optional"), Tone::Neutral),
            Self::NotLicensed => {
                (Text::new("Not in your licence", "Nicht in Ihrer Lizenz enthalten"), Tone::Neutral)
            }
        };
        Cell::badge(page.t(text), tone)
    }
}

pub(super) const TITLE: Text = Text::new("First steps", "Erste Schritte");
const INTRO: Text = Text::new(
    "What this server needs before people use it. You can leave this page at any time and continue \
     later.",
    "Was dieser Server braucht, bevor er genutzt wird. Sie können diese Seite jederzeit verlassen \
     und später weitermachen.",
);
const MODEL_GONE: Text =
    Text::new("This model does not exist any more.", "Dieses Modell gibt es nicht mehr.");
const STEP: Text = Text::new("Step", "Schritt");
const ORIGIN: Text = Text::new("Source: {}", "Herkunft: {}");
const SECRET_SET: Text = Text::new("Set, not displayed", "Gesetzt, nicht angezeigt");
const STORED_ENCRYPTED: Text = Text::new(
    "Stored encrypted, and never displayed.",
    "Wird verschlüsselt gespeichert und nie angezeigt.",
);
const SECRET_STAYS: Text = Text::new(
    "Leave this empty to keep the one that is set. Stored encrypted, and never displayed.",
    "Leer lassen, um den bisherigen Wert zu behalten. Wird verschlüsselt gespeichert und nie \
     angezeigt.",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_all_settings_have_is_taken_from_them() {
        let host = ("Host", Cell::text("localhost").detail("Source: Console"));
        let user = ("User", Cell::text("Not set"));
        let port = ("Port", Cell::text("25").detail("Source: Console"));
        let from = ("From", Cell::text("a@b").detail("Source: Environment"));
        let mut same = [host, user, port];

        assert_eq!(take_common_source(&mut same), "Source: Console");
        assert!(same.iter().all(|it| it.1.detail.is_empty()));

        let [host, ..] = same;
        let mut several = [(host.0, host.1.detail("Source: Console")), from];
        assert_eq!(take_common_source(&mut several), "");
        assert!(several.iter().all(|it| !it.1.detail.is_empty()));
    }
}
