//! Contract tests of unanswered questions.

use std::time::Duration;

use futures_util::future::join_all;
use pia_kernel::{GroupId, PageRequest, QuestionId, SideEffects, Timestamp};
use pia_knowledge::{QuestionLog, UnansweredQuestion};
use pia_policy::GroupStore;
use pia_storage::Database;
use pia_storage_knowledge::SqlQuestionLog;
use pia_storage_policy::SqlGroups;

use crate::fixture::{DEFAULT, NOW, create_group};

pia_testkit::contract! {
    concurrent_questions_are_counted_up,
    concurrent_questions_do_not_exceed_the_limit_of_the_group,
    questions_are_listed_by_group_in_pages_and_deleted,
    old_questions_are_swept,
    questions_are_deleted_with_the_group,
}

fn after(seconds: u64) -> Timestamp {
    NOW + Duration::from_secs(seconds)
}

async fn questions(log: &SqlQuestionLog, group: GroupId) -> Vec<UnansweredQuestion> {
    let page = log.page(group, PageRequest { after: None, limit: 100 }).await.unwrap();
    page.unwrap().items
}

async fn texts(log: &SqlQuestionLog, group: GroupId) -> Vec<String> {
    questions(log, group).await.into_iter().map(|it| it.text).collect()
}

async fn concurrent_questions_are_counted_up(db: Database) {
    let log = SqlQuestionLog::new(db.clone());
    let sales = create_group(&db, "Sales").await;
    log.record(sales, "who pays", NOW, 9).await.unwrap();
    let records = (0..10).map(|_| log.record(DEFAULT, "who pays", after(1), 9));
    assert!(join_all(records).await.iter().all(Result::is_ok));
    log.record(DEFAULT, "who pays", after(7), 9).await.unwrap();

    let [counted] = questions(&log, DEFAULT).await.try_into().unwrap();
    assert_eq!(counted.text, "who pays");
    assert_eq!(counted.count, 11);
    assert_eq!(counted.first_seen_at, after(1));
    assert_eq!(counted.last_seen_at, after(7));
    assert_eq!(questions(&log, sales).await[0].count, 1);
}

async fn concurrent_questions_do_not_exceed_the_limit_of_the_group(db: Database) {
    let log = SqlQuestionLog::new(db.clone());
    let sales = create_group(&db, "Sales").await;
    log.record(sales, "mine", NOW, 3).await.unwrap();
    for (at, text) in (0..).zip(["a", "b", "c"]) {
        log.record(DEFAULT, text, after(at), 3).await.unwrap();
    }
    log.record(DEFAULT, "a", after(5), 3).await.unwrap();
    log.record(DEFAULT, "d", after(6), 3).await.unwrap();
    assert_eq!(texts(&log, DEFAULT).await, ["d", "a", "c"]);

    let new_texts: Vec<String> = (0..10).map(|it| format!("new {it}")).collect();
    let records = new_texts.iter().map(|it| log.record(DEFAULT, it, after(7), 3));
    assert!(join_all(records).await.iter().all(Result::is_ok));
    let texts = texts(&log, DEFAULT).await;
    assert!(texts.len() == 3 && texts.iter().all(|it| it.starts_with("new")), "{texts:?}");
    assert_eq!(questions(&log, sales).await.len(), 1);
}

async fn questions_are_listed_by_group_in_pages_and_deleted(db: Database) {
    let log = SqlQuestionLog::new(db.clone());
    let sales = create_group(&db, "Sales").await;
    for text in ["a", "b", "c"] {
        log.record(DEFAULT, text, NOW, 9).await.unwrap();
    }
    let page =
        async |after| log.page(DEFAULT, PageRequest { after, limit: 2 }).await.unwrap().unwrap();
    let first_page = page(None).await;
    let second_page = page(first_page.next).await;
    let listed_questions = [first_page.items, second_page.items].concat();
    assert_eq!(listed_questions.iter().map(|it| &*it.text).collect::<Vec<_>>(), ["c", "b", "a"]);
    assert!(first_page.next.is_some() && second_page.next.is_none());

    let first_two = PageRequest { after: None, limit: 2 };
    assert_eq!(log.page(GroupId::generate(), first_two).await.unwrap(), None);

    assert!(!log.delete(sales, listed_questions[0].id).await.unwrap());
    assert!(!log.delete(DEFAULT, QuestionId::generate()).await.unwrap());
    assert!(log.delete(DEFAULT, listed_questions[0].id).await.unwrap());
    assert_eq!(texts(&log, DEFAULT).await, ["b", "a"]);
}

async fn old_questions_are_swept(db: Database) {
    let log = SqlQuestionLog::new(db);
    for (text, at) in [("old", 1), ("asked again", 1), ("asked again", 2), ("new", 2)] {
        log.record(DEFAULT, text, after(at), 9).await.unwrap();
    }

    assert_eq!(log.sweep(after(2)).await.unwrap(), 1);
    assert_eq!(texts(&log, DEFAULT).await, ["new", "asked again"]);
}

async fn questions_are_deleted_with_the_group(db: Database) {
    let log = SqlQuestionLog::new(db.clone());
    let sales = create_group(&db, "Sales").await;
    log.record(sales, "who pays", NOW, 9).await.unwrap();
    SqlGroups::new(db).remove(sales, SideEffects::default()).await.unwrap();

    assert_eq!(log.sweep(after(1)).await.unwrap(), 0);
}
