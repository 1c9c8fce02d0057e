//! Contract tests of the devices of all accounts.

use std::time::Duration;

use pia_e2ee::{DeviceEntry, DeviceFilter, DeviceReader as _, DeviceStatus};
use pia_kernel::{Cursor, PageRequest, TimeOrder, Timestamp};
use pia_storage::Database;
use pia_storage_e2ee::SqlDeviceReader;

use crate::people::{Machine, Person, START};

pia_testkit::contract! {
    devices_of_all_accounts_are_listed_by_page,
    devices_are_found_by_name_address_account_and_state,
}

const ALL: PageRequest = PageRequest { after: None, limit: 100 };

async fn page(db: &Database, filter: &DeviceFilter, page: PageRequest) -> Vec<DeviceEntry> {
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
    let cursor = Cursor { at: first_page[0].created_at, id: first_page[0].row.0 };
    let second_page = page(&db, &filter, PageRequest { after: Some(cursor), limit: 1 }).await;
    let oldest_first = DeviceFilter { order: TimeOrder::Oldest, ..DeviceFilter::default() };
    let oldest = page(&db, &oldest_first, PageRequest { limit: 1, ..ALL }).await;
    let cursor = Cursor { at: oldest[0].created_at, id: oldest[0].row.0 };
    let newest = page(&db, &oldest_first, PageRequest { after: Some(cursor), limit: 9 }).await;

    let owners: Vec<_> = entries.iter().map(|it| (it.user, it.status)).collect();
    let expected = [(bob.user, DeviceStatus::Waiting), (ada.user, DeviceStatus::Active)];
    assert_eq!(owners, expected);
    assert_eq!([first_page, second_page].concat(), entries);
    assert_eq!([newest, oldest].concat(), entries);
    assert_eq!(entries[1].email, format!("{}@example.org", ada.user));
    assert_eq!(entries[1].os_version.as_deref(), Some("Windows"));
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
