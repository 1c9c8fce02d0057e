//! Contract tests of the devices of all accounts.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_e2ee::{
    DeviceColumn, DeviceEntry, DeviceFilter, DeviceOrder, DeviceReader as _, DeviceStatus,
};
use pia_kernel::{PageRequest, SortCursor, Timestamp};
use pia_storage::schema::devices;
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use pia_storage_e2ee::SqlDeviceReader;

use crate::people::{Machine, Person, START};

pia_testkit::contract! {
    devices_of_all_accounts_are_listed_by_page,
    devices_are_paged_in_each_order,
    a_page_after_a_changed_or_deleted_device_begins_at_its_position,
    devices_are_found_by_name_address_account_and_state,
}

const ALL: PageRequest<SortCursor> = PageRequest { after: None, limit: 100 };

async fn page(
    db: &Database,
    filter: &DeviceFilter,
    page: PageRequest<SortCursor>,
) -> Vec<DeviceEntry> {
    let reader = SqlDeviceReader::new(db.clone());
    reader.page(filter, START, page).await.unwrap()
}

async fn names(db: &Database, filter: DeviceFilter, now: Timestamp) -> Vec<String> {
    let entries = SqlDeviceReader::new(db.clone()).page(&filter, now, ALL).await.unwrap();
    entries.into_iter().map(|it| it.name).collect()
}

async fn devices_of_all_accounts_are_listed_by_page(db: Database) {
    let (ada, _) = Person::encrypted(&db).await;
    let bob = Person::new(&db).await;
    bob.register(&Machine::new("bobs")).await;
    let filter = DeviceFilter::default();

    let entries = page(&db, &filter, ALL).await;
    let first_page = page(&db, &filter, PageRequest { limit: 1, ..ALL }).await;
    let cursor = filter.order.cursor(&first_page[0]);
    let second_page = page(&db, &filter, PageRequest { after: Some(cursor), limit: 1 }).await;
    let oldest_first = sorted_by(DeviceColumn::Created, true);
    let oldest = page(&db, &oldest_first, PageRequest { limit: 1, ..ALL }).await;
    let cursor = oldest_first.order.cursor(&oldest[0]);
    let newest = page(&db, &oldest_first, PageRequest { after: Some(cursor), limit: 9 }).await;

    let owners: Vec<_> = entries.iter().map(|it| (it.user, it.status)).collect();
    let expected = [(bob.user, DeviceStatus::Waiting), (ada.user, DeviceStatus::Active)];
    assert_eq!(owners, expected);
    assert_eq!([first_page, second_page].concat(), entries);
    assert_eq!([newest, oldest].concat(), entries);
    assert_eq!(entries[1].email, format!("{}@example.org", ada.user));
    assert_eq!(entries[1].os_version.as_deref(), Some("Windows"));
}

fn sorted_by(column: DeviceColumn, is_ascending: bool) -> DeviceFilter {
    let order = DeviceOrder { column, is_ascending };
    DeviceFilter { order, ..DeviceFilter::default() }
}

/// Registers three devices that were used at different times.
async fn register_three(db: &Database) {
    let person = Person::new(db).await;
    for name in ["beta", "Alpha", "gamma"] {
        person.register(&Machine::new(name)).await;
    }
    let by_registration = page(db, &sorted_by(DeviceColumn::Created, true), ALL).await;
    for (device, second) in by_registration.iter().zip([2, 3, 1]) {
        set_used(db, device, second).await;
    }
}

async fn set_used(db: &Database, device: &DeviceEntry, second: i64) {
    let at = DbInstant(Timestamp::from_micros(second * 1_000_000));
    let row = devices::table.find(DbUid(device.row.0));
    let update = diesel::update(row).set(devices::seen_at.eq(at));
    let result: Result<usize, DbError> = on_conn!(db.writer(), |conn| update.execute(conn).await?);
    assert_eq!(result.unwrap(), 1);
}

/// Returns the names of all devices, which are loaded one by one.
async fn names_one_by_one(db: &Database, filter: &DeviceFilter) -> Vec<String> {
    let mut names = Vec::new();
    let mut after = None;
    loop {
        let next_page = page(db, filter, PageRequest { after, limit: 1 }).await;
        let Some(device) = next_page.into_iter().next() else { return names };
        after = Some(filter.order.cursor(&device));
        names.push(device.name);
    }
}

async fn devices_are_paged_in_each_order(db: Database) {
    register_three(&db).await;

    for (column, expected) in [
        (DeviceColumn::Created, ["beta", "Alpha", "gamma"]),
        (DeviceColumn::Name, ["Alpha", "beta", "gamma"]),
        (DeviceColumn::Used, ["gamma", "beta", "Alpha"]),
    ] {
        let expected = expected.map(|it| format!("DESKTOP-{it}"));
        let ascending = names_one_by_one(&db, &sorted_by(column, true)).await;
        let mut descending = names_one_by_one(&db, &sorted_by(column, false)).await;
        descending.reverse();

        assert_eq!(ascending, expected, "{column:?}");
        assert_eq!(descending, expected, "{column:?} in descending order");
    }
}

async fn a_page_after_a_changed_or_deleted_device_begins_at_its_position(db: Database) {
    register_three(&db).await;
    let by_name = sorted_by(DeviceColumn::Name, true);
    let by_use = sorted_by(DeviceColumn::Used, true);
    let beta = page(&db, &by_use, ALL).await.swap_remove(1);
    let rest = async |filter: &DeviceFilter| {
        let after = Some(filter.order.cursor(&beta));
        let devices = page(&db, filter, PageRequest { after, limit: 9 }).await;
        devices.into_iter().map(|it| it.name).collect::<Vec<_>>()
    };

    set_used(&db, &beta, 9).await;
    assert_eq!(rest(&by_use).await, ["DESKTOP-Alpha", "DESKTOP-beta"]);
    let row = devices::table.find(DbUid(beta.row.0));
    let result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| diesel::delete(row).execute(conn).await?);
    assert_eq!(result.unwrap(), 1);
    assert_eq!(rest(&by_use).await, ["DESKTOP-Alpha"]);
    assert_eq!(rest(&by_name).await, ["DESKTOP-gamma"]);
}

async fn devices_are_found_by_name_address_account_and_state(db: Database) {
    let (ada, _) = Person::encrypted(&db).await;
    let bob = Person::new(&db).await;
    let revoked = Machine::new("gone");
    bob.register(&Machine::new("pending")).await;
    bob.register(&revoked).await;
    bob.devices.revoke(bob.user, &revoked.id).await.unwrap();
    let search = |text: &str| DeviceFilter { search: text.to_owned(), ..DeviceFilter::default() };
    let status = |it| DeviceFilter { status: Some(it), ..DeviceFilter::default() };
    let of_ada = DeviceFilter { user: Some(ada.user), ..DeviceFilter::default() };
    let later = START + Duration::from_hours(1);

    assert_eq!(names(&db, search("desktop-FIRST"), START).await, ["DESKTOP-first"]);
    assert_eq!(names(&db, search(&bob.user.to_string()), START).await.len(), 2);
    assert_eq!(names(&db, of_ada, START).await, ["DESKTOP-first"]);
    for (state, now, expected) in [
        (DeviceStatus::Active, START, "DESKTOP-first"),
        (DeviceStatus::Revoked, START, "DESKTOP-gone"),
        (DeviceStatus::Waiting, START, "DESKTOP-pending"),
        (DeviceStatus::Expired, later, "DESKTOP-pending"),
    ] {
        assert_eq!(names(&db, status(state), now).await, [expected], "{state:?}");
    }
    for (state, now) in [(DeviceStatus::Waiting, later), (DeviceStatus::Expired, START)] {
        assert!(names(&db, status(state), now).await.is_empty(), "{state:?}");
    }
}
