//! Contract tests of lists of chats.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{Cursor, UserId};
use pia_storage::schema::{chats as table, ledgers};
use pia_storage::{Database, DbError, DbInstant, DbUid, in_tx};
use pia_sync::{ChatListOutcome, ChatListRequest, ChatPage, ChatStore, IfNoneMatch, NewChat};

use crate::people::{at, chat, chats, create_person, delete, put};

pia_testkit::contract! {
    an_account_without_chats_has_an_empty_list,
    chats_are_listed_in_the_order_of_their_changes,
    pages_follow_one_another_without_a_gap,
    a_chat_stored_later_is_listed_despite_an_earlier_change,
    deletions_are_listed_on_request,
    a_page_is_also_limited_by_its_size,
    an_unchanged_list_is_not_sent_again,
    a_restored_server_does_not_confuse_versions_with_lost_ones,
}

const ALL: ChatListRequest =
    ChatListRequest { since: None, after: None, limit: 100, deleted: true };

async fn load_page(db: &Database, user: UserId, request: ChatListRequest) -> ChatPage {
    match chats(db).list(user, request, IfNoneMatch::Never).await.unwrap() {
        ChatListOutcome::Page(page) => page,
        ChatListOutcome::Unchanged(version) => panic!("{version}"),
    }
}

/// Returns the numbers of the chats, and of the deleted ones.
fn numbers(page: &ChatPage) -> (Vec<u128>, Vec<u128>) {
    let chats = page.chats.iter().map(|it| it.id.0.as_u128());
    (chats.collect(), page.deleted.iter().map(|it| it.0.as_u128()).collect())
}

async fn listed(db: &Database, user: UserId, request: ChatListRequest) -> (Vec<u128>, Vec<u128>) {
    numbers(&load_page(db, user, request).await)
}

fn since(micros: i64) -> ChatListRequest {
    ChatListRequest { since: Some(at(micros)), ..ALL }
}

async fn an_account_without_chats_has_an_empty_list(db: Database) {
    let ada = create_person(&db).await;
    let bob = create_person(&db).await;
    put(&db, bob, &chat(1, 10), 100).await;

    let page = load_page(&db, ada, ALL).await;

    assert_eq!(numbers(&page), (vec![], vec![]));
    assert_eq!(page.next, None);
    assert_eq!(page.version.epoch, None);
    assert_eq!(page.version.version, 0);
}

async fn chats_are_listed_in_the_order_of_their_changes(db: Database) {
    let ada = create_person(&db).await;
    for (number, updated_at) in [(1, 30), (2, -62_135_596_800_000_000), (4, 20), (3, 20)] {
        put(&db, ada, &chat(number, updated_at), 100).await;
    }

    let page = load_page(&db, ada, ALL).await;

    assert_eq!(numbers(&page).0, [2, 3, 4, 1]);
    assert_eq!(page.chats[1].text, chat(3, 20).text);
    assert_eq!(page.next, None);
    assert_eq!(page.version.version, 4);
}

async fn pages_follow_one_another_without_a_gap(db: Database) {
    let ada = create_person(&db).await;
    for number in 0..7 {
        put(&db, ada, &chat(number, 10 + i64::try_from(number / 3).unwrap()), 100).await;
    }
    delete(&db, ada, 5, 100).await;
    let mut listed_numbers = Vec::new();
    let mut page_count = 0;
    let mut after = None;

    loop {
        let page = load_page(&db, ada, ChatListRequest { after, limit: 2, ..ALL }).await;
        let (live, deleted) = numbers(&page);
        assert!(live.len() + deleted.len() <= 2);
        listed_numbers.extend(live);
        listed_numbers.extend(deleted);
        page_count += 1;
        after = page.next;
        if after.is_none() {
            break;
        }
    }

    assert_eq!(listed_numbers, vec![0, 1, 2, 3, 4, 6, 5]);
    assert_eq!(page_count, 4);
}

async fn a_chat_stored_later_is_listed_despite_an_earlier_change(db: Database) {
    let ada = create_person(&db).await;
    put(&db, ada, &chat(1, 10), 100).await;
    put(&db, ada, &chat(2, 5000), 200).await;
    put(&db, ada, &chat(3, 20), 6000).await;

    assert_eq!(listed(&db, ada, since(5000)).await.0, [3, 2]);
    assert_eq!(listed(&db, ada, since(10)).await.0, [1, 3, 2], "since is inclusive");
    assert_eq!(listed(&db, ada, since(6001)).await.0, Vec::<u128>::new());
}

async fn deletions_are_listed_on_request(db: Database) {
    let ada = create_person(&db).await;
    for number in 1..=3 {
        put(&db, ada, &chat(number, 10), 100).await;
    }
    delete(&db, ada, 2, 500).await;

    assert_eq!(listed(&db, ada, ALL).await, (vec![1, 3], vec![2]));
    assert_eq!(listed(&db, ada, since(500)).await, (vec![], vec![2]));
    let a_month = 30 * 24 * 3_600_000_000;
    assert_eq!(listed(&db, ada, since(500 + a_month)).await, (vec![], vec![2]));
    assert_eq!(listed(&db, ada, since(501 + a_month)).await, (vec![], vec![]));
    assert_eq!(
        listed(&db, ada, ChatListRequest { deleted: false, ..ALL }).await,
        (vec![1, 3], vec![])
    );
}

async fn a_page_is_also_limited_by_its_size(db: Database) {
    let ada = create_person(&db).await;
    for (number, mebibytes) in [(1, 3), (2, 2), (3, 1), (4, 6), (5, 1)] {
        let long = NewChat { text: vec![b' '; mebibytes << 20], ..chat(number, 10) };
        put(&db, ada, &long, 100).await;
    }
    let mut pages = Vec::new();
    let mut after = None;

    loop {
        let page = load_page(&db, ada, ChatListRequest { after, ..ALL }).await;
        pages.push(numbers(&page).0);
        after = page.next;
        if after.is_none() {
            break;
        }
    }

    assert_eq!(pages, [vec![1], vec![2, 3], vec![4], vec![5]]);
}

async fn an_unchanged_list_is_not_sent_again(db: Database) {
    let ada = create_person(&db).await;
    put(&db, ada, &chat(1, 10), 100).await;
    let version = load_page(&db, ada, ALL).await.version;
    let condition = || IfNoneMatch::OneOf(vec![version]);

    let unchanged = chats(&db).list(ada, ALL, condition()).await.unwrap();
    let any = chats(&db).list(ada, ALL, IfNoneMatch::Any).await.unwrap();
    put(&db, ada, &chat(2, 10), 100).await;
    let list_after_change = chats(&db).list(ada, ALL, condition()).await.unwrap();

    assert_eq!(unchanged, ChatListOutcome::Unchanged(version));
    assert_eq!(any, ChatListOutcome::Unchanged(version));
    let ChatListOutcome::Page(page) = list_after_change else { panic!("{list_after_change:?}") };
    assert_eq!(page.version.epoch, version.epoch);
    assert_eq!(page.version.version, 2);
    let behind = Cursor { at: at(10), id: pia_sync::ChatId(uuid::Uuid::from_u128(2)).0 };
    let end = load_page(&db, ada, ChatListRequest { after: Some(behind), ..ALL }).await;
    assert_eq!(numbers(&end), (vec![], vec![]));
}

/// Restores the database to the state it had at this version.
async fn restore(db: &Database, user: UserId, version: i64, stamp: i64) {
    let restored_at = DbInstant(at(stamp));
    let back = (ledgers::version.eq(version), ledgers::last_stamp.eq(restored_at));
    let outcome: Result<(), DbError> = async {
        in_tx!(db, async |conn| -> Result<(), DbError> {
            let lost = table::table.filter(table::stamp.gt(restored_at));
            diesel::delete(lost).execute(conn).await?;
            let ledger = ledgers::table.find(DbUid(user.0));
            diesel::update(ledger).set(back).execute(conn).await?;
            Ok(())
        })
    }
    .await;
    outcome.unwrap();
}

async fn a_restored_server_does_not_confuse_versions_with_lost_ones(db: Database) {
    let ada = create_person(&db).await;
    put(&db, ada, &chat(1, 10), 100).await;
    put(&db, ada, &chat(2, 10), 200).await;
    let lost = load_page(&db, ada, ALL).await.version;
    restore(&db, ada, 1, 100).await;
    put(&db, ada, &chat(3, 10), 300).await;

    let listing = chats(&db).list(ada, ALL, IfNoneMatch::OneOf(vec![lost])).await.unwrap();

    let ChatListOutcome::Page(page) = listing else { panic!("{listing:?}") };
    assert_eq!(numbers(&page).0, vec![1, 3]);
    assert_eq!(page.version.version, lost.version);
}
