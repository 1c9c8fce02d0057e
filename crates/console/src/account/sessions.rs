//! One's own sessions.

use std::collections::HashMap;

use pia_identity::{RevokeError, SessionEntry};
use pia_kernel::{SessionId, Unavailable};
use pia_web::{ApiError, Paging, PathId, Route};

use super::device_names::device_name;
use super::sign_in_history::{history_section, method_name};
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::{account_form, account_page};
use crate::texts::common;
use crate::ui::table::Tone;
use crate::ui::{Cell, Form, Row, Section, Table, Text, View, format};

const PATH: &str = "account/sessions";
/// Parameter of the query with the page of sessions: that of the history has
/// the usual name.
const CURSOR: &str = "sessions";

pub(super) fn routes() -> Vec<Route> {
    vec![
        account_page("/account/sessions", |it| it.to(list)),
        account_form("/account/sessions/sign-out-others", |it| it.to(end_others)),
        account_form("/account/sessions/{id}/sign-out", |it| it.to(end)),
    ]
}

async fn list(page: PageContext) -> PageResult {
    let others = Form::new("account/sessions/sign-out-others", page.t(SIGN_OUT_OTHERS)).danger();
    let view = View::new(page.t(TITLE))
        .intro(page.t(INTRO))
        .section(Section::new("sessions", "").table(session_table(&page).await?))
        .section(
            Section::new("others", page.t(SIGN_OUT_OTHERS)).intro(page.t(OTHERS_HINT)).form(others),
        )
        .section(history_section(&page).await?);
    Ok(page.render(view))
}

async fn end(page: PageContext, PathId(id): PathId, _: FormFields) -> PageResult {
    let session = page.session_ref()?;
    page.run(|api| async move {
        match api.identity.sessions.revoke(session, SessionId(id)).await {
            // It has already ended.
            Err(RevokeError::Unknown) => Ok(()),
            result => result,
        }
    })
    .await?;
    page.done(PATH, "session-ended")
}

async fn end_others(page: PageContext, _: FormFields) -> PageResult {
    let session = page.session_ref()?;
    page.run(|api| async move { api.identity.sessions.revoke_others(session).await }).await?;
    page.done(PATH, "others-ended")
}

async fn session_table(page: &PageContext) -> Result<Table, ApiError> {
    let user = page.user();
    let request = page.paging_by(CURSOR)?;
    let (entries, names) = page
        .run(|api| async move {
            let entries = api.identity.sessions.page(user, request).await?;
            Ok::<_, Unavailable>((entries, api.e2ee.devices.names(user).await?))
        })
        .await?;

    let current = page.session_ref()?.session;
    let columns = [DEVICE, ORIGIN, SIGNED_IN, LAST_USED];

    Ok(Table {
        caption: page.t(TITLE).to_owned(),
        columns: columns.map(|it| page.t(it).to_owned()).into(),
        rows: entries.items.iter().map(|it| session_row(page, it, current, &names)).collect(),
        empty: page.t(EMPTY).to_owned(),
        first: page.first_page(CURSOR),
        next: entries.next.map(|it| page.query_with(CURSOR, &Paging::format_cursor(it))),
        next_label: page.t(common::NEXT_PAGE).to_owned(),
        ..Table::default()
    })
}

fn session_row(
    page: &PageContext,
    entry: &SessionEntry,
    current: SessionId,
    names: &HashMap<String, String>,
) -> Row {
    let program = device_name(page.language, &entry.device);
    let chosen_name = entry.device.device_id.as_ref().and_then(|it| names.get(it));
    let device = match chosen_name {
        Some(name) => Cell::text(name).detail(&program),
        None => Cell::text(&program),
    };
    let origin = page.origin(entry.device.address);
    let began = Cell::text(format::time(page.language, entry.began_at));
    let is_current = entry.session == current;
    let used = if is_current {
        Cell::badge(page.t(CURRENT), Tone::Good)
    } else {
        Cell::text(format::time(page.language, entry.used_at))
    };

    let method = method_name(page, &entry.method);
    let row = Row::new(vec![device, Cell::text(origin), began.detail(method), used]);
    if is_current {
        return row;
    }

    let path = format!("{PATH}/{}/sign-out", entry.session);

    row.form(Form::new(path, page.t(common::SIGN_OUT)).about(program))
}

const TITLE: Text = Text::new("Sessions", "Sitzungen");
const INTRO: Text = Text::new(
    "These devices and browsers are signed in to your account.",
    "Diese Geräte und Browser sind bei Ihrem Konto angemeldet.",
);
pub(super) const DEVICE: Text = Text::new("Device", "Gerät");
pub(super) const ORIGIN: Text = Text::new("Origin", "Herkunft");
const SIGNED_IN: Text = Text::new("Signed in", "Angemeldet");
const LAST_USED: Text = Text::new("Last used", "Zuletzt benutzt");
const CURRENT: Text = Text::new("This session", "Diese Sitzung");
const EMPTY: Text = Text::new("No more sessions.", "Keine weiteren Sitzungen.");
const SIGN_OUT_OTHERS: Text = Text::new("Sign out everywhere else", "Überall sonst abmelden");
const OTHERS_HINT: Text = Text::new(
    "Every other device and browser has to sign in again. You stay signed in here. App passwords \
     and API keys stay valid.",
    "Alle anderen Geräte und Browser müssen sich neu anmelden. Hier bleiben Sie angemeldet. \
     App-Passwörter und API-Schlüssel bleiben gültig.",
);
