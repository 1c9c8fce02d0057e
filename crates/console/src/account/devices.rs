//! Devices with keys of one's own encrypted account.

use pia_e2ee::{Device, DeviceRow, KeyState, ListedDevice};
use pia_kernel::Unavailable;
use pia_policy::Feature;
use pia_web::{AccountScope, ApiError, PathId, Route};

use crate::page_context::{PageContext, PageResult};
use crate::proof::ProvedForm;
use crate::routes::pages::{account_form, account_page};
use crate::texts::common;
use crate::ui::table::Tone;
use crate::ui::{Cell, Form, Row, Section, Table, Text, View, format};

const PATH: &str = "account/devices";

pub(super) fn routes() -> Vec<Route> {
    let licensed =
        |route| Route { accounts: AccountScope::Complete, feature: Some(Feature::E2ee), ..route };
    vec![
        licensed(account_page("/account/devices", |it| it.to(list))),
        licensed(account_page("/account/devices/{id}", |it| it.to(show))),
        licensed(account_form("/account/devices/{id}/remove", |it| it.to(remove))),
    ]
}

async fn list(page: PageContext) -> PageResult {
    let (devices, state) = load(&page).await?;
    let columns = [common::NAME, common::STATUS, ADDED, LAST_USED];
    let table = Table {
        caption: page.t(TITLE).to_owned(),
        columns: columns.map(|it| page.t(it).to_owned()).into(),
        rows: devices.iter().map(|it| device_row(&page, it)).collect(),
        empty: page.t(EMPTY).to_owned(),
        ..Table::default()
    };

    let badge = |is_set: bool, yes, no| {
        let tone = if is_set { Tone::Good } else { Tone::Neutral };
        Cell::badge(page.t(if is_set { yes } else { no }), tone)
    };

    let facts = [
        (page.t(ENCRYPTION), badge(state.encrypted, ON, OFF)),
        (page.t(RECOVERY), badge(state.recovery, SET, NOT_SET)),
    ];

    let section = Section::new("devices", "").intro(page.t(APPROVE_HINT)).table(table);
    let view = View::new(page.t(TITLE))
        .intro(page.t(INTRO))
        .section(Section::new("encryption", "").facts(facts))
        .section(section);

    Ok(page.render(view))
}

async fn show(page: PageContext, PathId(id): PathId) -> PageResult {
    let (devices, state) = load(&page).await?;
    let active = devices.iter().filter(|it| it.device.is_active()).count();
    let listed =
        devices.iter().find(|it| it.device.row == DeviceRow(id)).ok_or_else(ApiError::not_found)?;
    let device = &listed.device;
    let view = View::new(&device.name)
        .below(page.t(TITLE), PATH)
        .section(Section::new("device", "").facts(device_facts(&page, listed)));
    if device.is_revoked() {
        return Ok(page.render(view));
    }

    let form = Form::new(format!("{PATH}/{id}/remove"), page.t(REMOVE)).danger();
    let mut section = Section::new("remove", page.t(REMOVE)).intro(page.t(REMOVE_HINT));
    let is_last_active = device.is_active() && active == 1;
    if is_last_active {
        let warning = if state.recovery { LAST_DEVICE } else { LAST_KEY };
        section = section.paragraph(page.t(warning));
    }

    Ok(page.render(view.section(section.form(form))))
}

async fn remove(page: PageContext, PathId(id): PathId, _: ProvedForm) -> PageResult {
    let (listed_devices, _) = load(&page).await?;
    let listed = listed_devices
        .into_iter()
        .find(|it| it.device.row == DeviceRow(id))
        .ok_or_else(ApiError::not_found)?;
    let device = listed.device.id;
    let user = page.user();
    page.run(|api| async move { api.e2ee.devices.revoke(user, &device).await }).await?;
    page.done(PATH, "removed")
}

async fn load(page: &PageContext) -> Result<(Vec<ListedDevice>, KeyState), ApiError> {
    let user = page.user();
    page.run(|api| async move {
        Ok::<_, Unavailable>((
            api.e2ee.devices.list(user).await?,
            api.e2ee.devices.state(user).await?,
        ))
    })
    .await
}

fn device_row(page: &PageContext, listed: &ListedDevice) -> Row {
    let Device { row, name, created_at, seen_at, .. } = &listed.device;
    Row::new(vec![
        Cell::link(name, format!("{PATH}/{}", row.0)),
        status_cell(page, listed),
        Cell::text(format::time(page.language, *created_at)),
        Cell::text(format::time(page.language, *seen_at)),
    ])
}

fn device_facts(page: &PageContext, listed: &ListedDevice) -> Vec<(&'static str, Cell)> {
    let device = &listed.device;
    vec![
        (page.t(common::STATUS), status_cell(page, listed)),
        (page.t(SYSTEM), Cell::text(device.os_version.clone().unwrap_or_default())),
        (page.t(APP), Cell::text(device.app_version.clone().unwrap_or_default())),
        (page.t(ADDED), Cell::text(format::time(page.language, device.created_at))),
        (page.t(LAST_USED), Cell::text(format::time(page.language, device.seen_at))),
        (page.t(FINGERPRINT), Cell::text(device.fingerprint().unwrap_or_default())),
    ]
}

fn status_cell(page: &PageContext, listed: &ListedDevice) -> Cell {
    let (text, tone) = if listed.device.is_active() {
        (ACTIVE, Tone::Good)
    } else if listed.device.is_revoked() {
        (REMOVED, Tone::Neutral)
    } else if listed.onboarding.is_some() {
        (PENDING, Tone::Warning)
    } else {
        (EXPIRED, Tone::Neutral)
    };
    Cell::badge(page.t(text), tone)
}

const TITLE: Text = Text::new("Devices", "Geräte");
const INTRO: Text = Text::new(
    "These devices hold the keys of your end-to-end encrypted data. The server cannot read it.",
    "Diese Geräte haben die Schlüssel Ihrer Ende-zu-Ende-verschlüsselten Daten. Der Server kann \
     sie nicht lesen.",
);
const EMPTY: Text = Text::new(
    "No device has keys yet. Turn on end-to-end encryption in the Pia app.",
    "Noch hat kein Gerät Schlüssel. Schalten Sie die Ende-zu-Ende-Verschlüsselung in der Pia-App \
     ein.",
);
const APPROVE_HINT: Text = Text::new(
    "Approve a waiting device in the Pia app on one of your active devices. Only these hold the \
     keys.",
    "Bestätigen Sie ein wartendes Gerät in der Pia-App auf einem Ihrer aktiven Geräte. Nur diese \
     haben die Schlüssel.",
);
const ENCRYPTION: Text = Text::new("End-to-end encryption", "Ende-zu-Ende-Verschlüsselung");
const RECOVERY: Text = Text::new("Recovery code", "Wiederherstellungscode");
const ON: Text = Text::new("On", "Ein");
const OFF: Text = Text::new("Off", "Aus");
const SET: Text = Text::new("Set up", "Eingerichtet");
const NOT_SET: Text = Text::new("Not set up", "Nicht eingerichtet");
const ACTIVE: Text = Text::new("Active", "Aktiv");
const PENDING: Text = Text::new("Waiting for approval", "Wartet auf Bestätigung");
const EXPIRED: Text = Text::new("Request expired", "Anfrage abgelaufen");
const REMOVED: Text = Text::new("Removed", "Entfernt");
const LAST_USED: Text = Text::new("Last used", "Zuletzt benutzt");
const ADDED: Text = Text::new("Added", "Hinzugefügt");
const SYSTEM: Text = Text::new("System", "System");
const APP: Text = Text::new("App version", "App-Version");
const FINGERPRINT: Text = Text::new("Key fingerprint", "Fingerabdruck des Schlüssels");
const REMOVE: Text = Text::new("Remove device", "Gerät entfernen");
const REMOVE_HINT: Text = Text::new(
    "The device gets no new keys and has to be approved again. It stays signed in: if you have \
     lost it, sign out its session too.",
    "Das Gerät erhält keine neuen Schlüssel und muss erneut bestätigt werden. Es bleibt \
     angemeldet: Wenn Sie es verloren haben, melden Sie auch seine Sitzung ab.",
);
const LAST_DEVICE: Text = Text::new(
    "This is your only active device. Without it, you need your recovery code to access your \
     encrypted data.",
    "Dies ist Ihr einziges aktives Gerät. Ohne dieses brauchen Sie Ihren Wiederherstellungscode, \
     um auf Ihre verschlüsselten Daten zuzugreifen.",
);
const LAST_KEY: Text = Text::new(
    "This is your only active device, and you have no recovery code. If you remove it, your \
     encrypted data is lost for good. Set up a recovery code in the app first.",
    "Dies ist Ihr einziges aktives Gerät, und Sie haben keinen Wiederherstellungscode. Wenn Sie es \
     entfernen, sind Ihre verschlüsselten Daten endgültig verloren. Richten Sie zuerst in der App \
     einen Wiederherstellungscode ein.",
);
