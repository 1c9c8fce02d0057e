//! Devices of end-to-end encrypted accounts.

use pia_e2ee::{DeviceEntry, DeviceFilter, DeviceOrder, DeviceStatus};
use pia_web::Route;

use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::page;
use crate::texts::common;
use crate::ui::table::Tone;
use crate::ui::view::Link;
use crate::ui::{Cell, Field, Row, Search, Section, Table, Text, View, format};

pub(super) fn routes() -> Vec<Route> {
    vec![page("/admin/devices", |it| it.to(list))]
}

async fn list(page: PageContext) -> PageResult {
    let status_name = page.query("status");
    let status = DeviceStatus::ALL.into_iter().find(|it| it.name() == status_name);
    let order = DeviceOrder::from_name(&page.query("sort")).unwrap_or_default();
    let request = page.sorted_paging(order.column.is_text())?;
    let filter = DeviceFilter { user: None, search: page.query("search"), status, order };
    let devices =
        page.run(|api| async move { api.e2ee.directory.list(&filter, request).await }).await?;
    let columns = [DEVICE, USER, common::STATUS, ADDED, LAST_USED];
    let search = search_form(&page, status);
    let table = Table {
        caption: page.t(TITLE).to_owned(),
        columns: columns.map(|it| page.t(it).to_owned()).into(),
        rows: devices.items.iter().map(|it| device_row(&page, it, true)).collect(),
        empty: page.t(search.empty_text(EMPTY)).to_owned(),
        search: Some(search),
        sort_links: page.sort_links(&["name", "", "", "created", "used"]),
        ..page.paged_sorted(devices.next.as_ref())
    };
    let section = Section::new("devices", "").table(table);

    Ok(page.render(View::new(page.t(TITLE)).intro(page.t(INTRO)).section(section)))
}

/// Returns the devices of one user, for the user's page.
pub(super) fn of_user(page: &PageContext, devices: &[DeviceEntry]) -> Section {
    let columns = [DEVICE, common::STATUS, ADDED, LAST_USED];
    let table = Table {
        caption: page.t(TITLE).to_owned(),
        columns: columns.map(|it| page.t(it).to_owned()).into(),
        rows: devices.iter().map(|it| device_row(page, it, false)).collect(),
        ..Table::default()
    };
    Section::new("devices", page.t(TITLE)).intro(page.t(OF_USER)).table(table)
}

fn device_row(page: &PageContext, device: &DeviceEntry, has_user: bool) -> Row {
    let version = device.app_version.as_deref().map(|it| page.fill(VERSION, &[it]));
    let program: Vec<_> = device.os_version.clone().into_iter().chain(version).collect();
    let user = Cell::link(&device.email, format!("admin/users/{}", device.user));
    let cells = [
        Some(Cell::text(&device.name).detail(program.join(", "))),
        has_user.then_some(user),
        Some(status_cell(page, device.status)),
        Some(Cell::text(format::time(page.language, device.created_at))),
        Some(Cell::text(format::time(page.language, device.seen_at))),
    ];

    Row::new(cells.into_iter().flatten().collect())
}

fn status_cell(page: &PageContext, status: DeviceStatus) -> Cell {
    let tone = match status {
        DeviceStatus::Active => Tone::Good,
        DeviceStatus::Waiting => Tone::Warning,
        DeviceStatus::Expired | DeviceStatus::Revoked => Tone::Neutral,
    };
    Cell::badge(page.t(status_text(status)), tone)
}

fn status_text(status: DeviceStatus) -> Text {
    match status {
        DeviceStatus::Waiting => Text::new("Waiting for approval", "Wartet auf Bestätigung"),
        DeviceStatus::Expired => Text::new("Request expired", "Anfrage abgelaufen"),
        DeviceStatus::Active => Text::new("Active", "Aktiv"),
        DeviceStatus::Revoked => Text::new("Removed", "Entfernt"),
    }
}

fn search_form(page: &PageContext, status: Option<DeviceStatus>) -> Search {
    let search = page.query("search");
    let is_filtered = status.is_some() || !search.is_empty();

    let options = DeviceStatus::ALL.map(|it| (it.name(), page.t(status_text(it))));
    let options_and_all = [("", page.t(ALL))].into_iter().chain(options);
    let selected = status.map_or("", DeviceStatus::name);
    let statuses = Field::select("status", page.t(common::STATUS), options_and_all, selected);
    let text = Field::input("search", page.t(SEARCH), "search", "off", search);
    let reset =
        Link { label: page.t(common::RESET_FILTERS).to_owned(), path: "admin/devices".to_owned() };

    Search {
        label: page.t(TITLE).to_owned(),
        fields: [text.optional(), statuses.optional()]
            .into_iter()
            .chain(page.sort_field())
            .collect(),
        submit: page.t(common::SEARCH).to_owned(),
        reset: is_filtered.then_some(reset),
    }
}

const TITLE: Text = Text::new("Devices", "Geräte");
const INTRO: Text = Text::new(
    "Devices that hold or request the keys of end-to-end encrypted data. Administrators cannot \
     read this data, and only its owner can remove a device: without the last device, the data may \
     be lost.",
    "Geräte, die die Schlüssel Ende-zu-Ende-verschlüsselter Daten haben oder anfordern. \
     Administratoren können diese Daten nicht lesen, und nur die Person, der sie gehören, kann ein \
     Gerät entfernen: Ohne das letzte Gerät können die Daten verloren sein.",
);
const OF_USER: Text = Text::new(
    "Devices that hold the keys of the encrypted data. Only the user can remove one. To lock out a \
     lost device, sign out all sessions.",
    "Geräte, die die Schlüssel der verschlüsselten Daten haben. Nur die Person selbst kann eines \
     entfernen. Um ein verlorenes Gerät auszusperren, melden Sie alle Sitzungen ab.",
);
const EMPTY: Text = Text::new(
    "No devices yet. Users turn on end-to-end encryption in the Pia app.",
    "Noch keine Geräte. Die Ende-zu-Ende-Verschlüsselung wird in der Pia-App eingeschaltet.",
);
const DEVICE: Text = Text::new("Device", "Gerät");
const USER: Text = Text::new("User", "Konto");
const ADDED: Text = Text::new("Added", "Hinzugefügt");
const LAST_USED: Text = Text::new("Last used", "Zuletzt benutzt");
const SEARCH: Text = Text::new("Email address or device", "E-Mail-Adresse oder Gerät");
const ALL: Text = Text::new("All", "Alle");
const VERSION: Text = Text::new("app {}", "App {}");
