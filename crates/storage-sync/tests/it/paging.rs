//! Contract tests of pages.

use futures_util::join;
use pia_kernel::{Timestamp, UserId};
use pia_storage::Database;
use pia_sync::{Channel, Item, ItemKey, ItemPage, PageLimit, SyncReader};

use crate::person::{Person, START, at, item, todo};

pia_testkit::contract! {
    a_page_is_limited_by_rows_and_the_next_continues,
    a_page_is_limited_by_bytes_but_has_at_least_one_row,
    a_page_below_its_limits_is_not_truncated,
    pages_are_complete_while_rows_are_restamped,
    a_page_is_at_least_as_recent_as_its_head,
    the_head_of_an_empty_account_is_its_creation,
    undecryptable_items_are_omitted,
    the_last_stamp_until_another_is_of_the_same_account,
}

async fn the_last_stamp_until_another_is_of_the_same_account(db: Database) {
    let person = Person::of(db.clone()).await;
    let other_person = Person::of(db).await;
    let stamp_at_10 = person.push(10, vec![todo(1, 5)]).await.last_stamp;
    other_person.push(12, vec![todo(1, 5)]).await;
    let stamp_at_20 = person.push(20, vec![todo(2, 5)]).await.last_stamp;

    for (until, expected) in [
        (9, None),
        (10, Some(stamp_at_10)),
        (15, Some(stamp_at_10)),
        (20, Some(stamp_at_20)),
        (99, Some(stamp_at_20)),
    ] {
        let last = person.reader.last_until(person.user, at(until)).await.unwrap();

        assert_eq!(last, expected, "{until}");
    }
}

/// Reads page after page, until one is not truncated.
async fn read_all_pages(person: &Person, rows: u32, bytes: u64) -> (Vec<ItemKey>, usize) {
    let mut since = START;
    let mut keys = Vec::new();
    let mut pages = 0;
    loop {
        let page = person.page(since, rows, bytes).await;
        pages += 1;
        keys.extend(page.rows.iter().map(|it| it.key));
        since = page.up_to.unwrap_or(since);
        if !page.is_truncated {
            return (keys, pages);
        }
    }
}

async fn a_page_is_limited_by_rows_and_the_next_continues(db: Database) {
    let person = Person::of(db).await;
    let channels = [Channel::Todos, Channel::Memories, Channel::Templates];
    let items = (0..30).map(|it| item(channels[it as usize % 3], it, 5)).collect::<Vec<_>>();
    person.push(10, items.clone()).await;

    let (keys, pages) = read_all_pages(&person, 7, u64::MAX).await;

    assert_eq!(keys, items.iter().map(|it| it.key).collect::<Vec<_>>());
    assert_eq!(pages, 5);
}

async fn a_page_is_limited_by_bytes_but_has_at_least_one_row(db: Database) {
    let person = Person::of(db).await;
    let big = |id: u128, size: usize| Item { body: "x".repeat(size), ..todo(id, 5) };
    person.push(10, vec![big(1, 90), big(2, 9), big(3, 1), big(4, 500), big(5, 1)]).await;

    let page = person.page(START, 10, 100).await;
    let ids: Vec<_> = page.rows.iter().map(|it| it.key.id.as_u128()).collect();
    assert_eq!(ids, [1, 2, 3]);
    assert!(page.is_truncated);

    let (keys, pages) = read_all_pages(&person, 10, 100).await;
    assert_eq!(keys.len(), 5);
    assert_eq!(pages, 3);

    let single = person.page(START, 10, 1).await;
    assert_eq!(single.rows.len(), 1);
    assert!(single.is_truncated);
}

async fn a_page_below_its_limits_is_not_truncated(db: Database) {
    let person = Person::of(db).await;
    let last_stamp = person.push(10, vec![todo(1, 5), todo(2, 5)]).await.last_stamp;

    let page = person.page(START, 3, u64::MAX).await;
    let next_page = person.page(last_stamp, 3, u64::MAX).await;

    assert_eq!(page.rows.len(), 2);
    assert_eq!(page.up_to, Some(last_stamp));
    assert!(!page.is_truncated);
    assert_eq!(next_page.rows.len(), 0);
    assert_eq!(next_page.up_to, None);
    assert!(!next_page.is_truncated);
}

async fn pages_are_complete_while_rows_are_restamped(db: Database) {
    let person = Person::of(db).await;
    person.push(10, (1..=10).map(|it| todo(it, 5)).collect()).await;
    let first_page = person.page(START, 4, u64::MAX).await;

    // The next ones change before they are read.
    person.push(20, vec![todo(5, 9), todo(2, 9)]).await;
    let mut keys: Vec<_> = first_page.rows.iter().map(|it| it.key.id.as_u128()).collect();
    let next_page = person.page(first_page.up_to.unwrap(), 100, u64::MAX).await;
    keys.extend(next_page.rows.iter().map(|it| it.key.id.as_u128()));

    assert_eq!(keys, [1, 2, 3, 4, 6, 7, 8, 9, 10, 5, 2]);
}

async fn a_page_is_at_least_as_recent_as_its_head(db: Database) {
    let person = Person::of(db).await;
    let limit = PageLimit { rows: 1_000, bytes: u64::MAX };
    let pushing = async {
        for second in 1..=150 {
            person.push(second, vec![todo(second.into(), second)]).await;
        }
    };
    let reading = async {
        let mut reported = Timestamp::UNIX_EPOCH;
        while reported < at(150) {
            let loaded = person.reader.head_and_page(person.user, START, limit).await.unwrap();
            let (head, page) = loaded.unwrap();
            assert!(page.up_to.unwrap_or(START) >= head.last_stamp, "{head:?} {:?}", page.up_to);
            reported = head.last_stamp;
        }
    };

    join!(pushing, reading, async {
        // Other requests whose statements interleave.
        for _ in 0..20 {
            let since = person.reader.head_and_page(UserId::generate(), START, limit);
            assert_eq!(since.await.unwrap(), None);
        }
    });
}

async fn the_head_of_an_empty_account_is_its_creation(db: Database) {
    let person = Person::of(db).await;

    let head = person.reader.head(person.user).await.unwrap().unwrap();
    let limit = PageLimit { rows: 5, bytes: 5 };
    let both = person.reader.head_and_page(person.user, START, limit).await.unwrap();

    assert_eq!(both, Some((head.clone(), ItemPage::default())));
    assert_eq!(head.last_stamp, START);
    assert_eq!(head.version, 0);
    assert!(!head.has_pending_devices);
    assert_eq!(person.page(Timestamp::from_micros(i64::MIN), 5, 5).await.rows, []);
}

async fn undecryptable_items_are_omitted(db: Database) {
    let person = Person::of(db).await;
    let preference = item(Channel::PluginPreferences, 9, 5);
    person.push(10, vec![todo(1, 5), todo(2, 5), preference]).await;
    person.delete(11, vec![todo(2, 5).key]).await;
    let rekeyed = person.under_another_key();
    let conflicts = rekeyed.push(20, vec![todo(3, 6), todo(1, 4)]).await.conflicts;

    let rows = rekeyed.since(START).await;
    let (keys, pages) = read_all_pages(&rekeyed, 1, u64::MAX).await;

    // The unreadable one is no deletion, and hides no other.
    let deleted = todo(2, 5).key;
    let created = todo(3, 6).key;
    assert_eq!(rows, [(deleted, None), (created, Some(todo(3, 6).body))]);
    assert_eq!(keys, vec![deleted, created]);
    assert_eq!(pages, 4);
    let [conflict] = conflicts.as_slice() else { panic!("{conflicts:?}") };
    assert_eq!(conflict.key, todo(1, 4).key);
    assert_eq!(conflict.server_version, None);
    assert!(rekeyed.reader.preferences(rekeyed.user).await.unwrap().is_empty());

    let replacement = rekeyed.push(30, vec![todo(1, 29)]).await;
    assert_eq!(replacement.conflicts, []);
    assert!(rekeyed.since(START).await.contains(&(todo(1, 29).key, Some(todo(1, 29).body))));
}
