//! Contract tests of the usage log.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_assistant::{CallOutcome, Micros, Mode, Rates, Usage, UsageLog, UsageRecord};
use pia_kernel::{ApiKeyId, GroupId, Timestamp, UserId};
use pia_storage::schema::ai_usage;
use pia_storage::{Database, DatabaseKind, DbError, DbInstant, DbUid, on_conn};
use pia_storage_assistant::SqlCreditStore;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::credit_stores::{TIME_LIMIT, execute, sign_up};

pia_testkit::contract! {
    records_of_any_thread_are_written,
    every_field_of_a_record_is_stored,
    usage_of_a_deleted_account_has_no_owner,
    a_record_added_twice_is_written_once,
    the_name_of_a_model_may_be_anything,
    records_added_during_an_outage_are_written_later,
    a_record_that_the_database_rejects_does_not_block_others,
    draining_gives_up_after_its_limit_and_ends_the_task,
}

/// Columns of a stored record.
#[derive(Debug, PartialEq, Eq, Queryable)]
struct StoredRecord {
    mode: String,
    provider: String,
    model: String,
    outcome: String,
    input_tokens: i64,
    cached_input_tokens: i64,
    output_tokens: i64,
    estimated: bool,
    duration_millis: Option<i64>,
}

pub(crate) fn record(model: &str) -> UsageRecord {
    UsageRecord {
        id: Uuid::now_v7(),
        at: Timestamp::from_micros(1_234_567),
        user: UserId::generate(),
        group: GroupId::generate(),
        key: Some(ApiKeyId::generate()),
        mode: Mode::Assistant,
        provider: "OpenAI",
        entry: Some("large".to_owned()),
        model: model.to_owned(),
        tokens: Usage { input: 30, cached_input: 20, output: 10, connector: 5, reasoning: 0 },
        rates: Rates { input: 1, output: 2, cached_input: 3, connector: 4 },
        spent: Micros(6),
        estimated: true,
        outcome: CallOutcome::Abandoned,
        duration: Duration::from_millis(1500),
    }
}

fn start(db: &Database) -> SqlCreditStore {
    crate::credit_stores::start(db, &TaskTracker::new())
}

async fn count_rows(db: &Database) -> i64 {
    let query = ai_usage::table.count();
    let count: Result<i64, DbError> = on_conn!(db.reader(), |conn| query.get_result(conn).await?);
    count.unwrap()
}

/// Yields until the condition holds.
async fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::task::yield_now().await;
    }
}

async fn records_of_any_thread_are_written(db: Database) {
    let log = start(&db);

    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..500).for_each(|_| log.record(record("gpt"))));
        }
    });
    let lost_records = log.drain(TIME_LIMIT).await;

    assert_eq!(lost_records, 0);
    assert_eq!(log.written_count(), 2000);
    assert_eq!(log.dropped_count(), 0);
    assert_eq!(count_rows(&db).await, 2000);
}

async fn every_field_of_a_record_is_stored(db: Database) {
    let log = start(&db);
    let record = record("gpt");
    sign_up(&db, record.user, Timestamp::UNIX_EPOCH).await;

    log.record(record.clone());
    log.drain(TIME_LIMIT).await;

    let query = ai_usage::table
        .find(DbUid(record.id))
        .filter(ai_usage::user_id.eq(DbUid(record.user.0)))
        .filter(ai_usage::at.eq(DbInstant(record.at)))
        .select((
            ai_usage::mode,
            ai_usage::provider,
            ai_usage::model,
            ai_usage::outcome,
            ai_usage::input_tokens,
            ai_usage::cached_input_tokens,
            ai_usage::output_tokens,
            ai_usage::estimated,
            ai_usage::duration_millis,
        ));
    let row: Result<StoredRecord, DbError> =
        on_conn!(db.reader(), |conn| query.first(conn).await?);
    let expected = StoredRecord {
        mode: "Assistant".to_owned(),
        provider: "OpenAI".to_owned(),
        model: "gpt".to_owned(),
        outcome: "abandoned".to_owned(),
        input_tokens: 30,
        cached_input_tokens: 20,
        output_tokens: 10,
        estimated: true,
        duration_millis: Some(1500),
    };
    assert_eq!(row.unwrap(), expected);
}

async fn usage_of_a_deleted_account_has_no_owner(db: Database) {
    let log = start(&db);
    let owned = record("gpt");
    let orphaned = record("gpt");
    sign_up(&db, owned.user, Timestamp::UNIX_EPOCH).await;

    log.record(owned.clone());
    log.record(orphaned.clone());
    log.drain(TIME_LIMIT).await;

    let query = ai_usage::table.order(ai_usage::id).select((ai_usage::id, ai_usage::user_id));
    let owners: Result<Vec<(DbUid, DbUid)>, DbError> =
        on_conn!(db.reader(), |conn| query.load(conn).await?);
    let expected =
        [(DbUid(owned.id), DbUid(owned.user.0)), (DbUid(orphaned.id), DbUid(Uuid::nil()))];
    assert_eq!(owners.unwrap(), expected);
}

async fn a_record_added_twice_is_written_once(db: Database) {
    let log = start(&db);
    let record = record("gpt");

    log.record(record.clone());
    wait_until(|| log.waiting_count() == 0).await;
    log.record(record.clone());
    log.record(record);
    let lost_records = log.drain(TIME_LIMIT).await;

    assert_eq!(lost_records, 0);
    assert_eq!(count_rows(&db).await, 1);
}

async fn the_name_of_a_model_may_be_anything(db: Database) {
    let log = start(&db);

    log.record(record("a\0b"));
    log.record(record(&"ü".repeat(10_000)));
    log.record(record(""));
    let lost_records = log.drain(TIME_LIMIT).await;

    assert_eq!(lost_records, 0);
    assert_eq!(log.failure_count(), 0);
    assert_eq!(count_rows(&db).await, 3);
}

async fn records_added_during_an_outage_are_written_later(db: Database) {
    let log = start(&db);
    execute(&db, "ALTER TABLE ai_usage RENAME TO away").await;

    (0..600).for_each(|_| log.record(record("gpt")));
    wait_until(|| log.failure_count() > 0).await;
    assert_eq!(log.waiting_count(), 600);
    assert_eq!(log.written_count(), 0);

    execute(&db, "ALTER TABLE away RENAME TO ai_usage").await;
    let lost_records = log.drain(TIME_LIMIT).await;

    assert_eq!(lost_records, 0);
    assert_eq!(count_rows(&db).await, 600);
}

async fn a_record_that_the_database_rejects_does_not_block_others(db: Database) {
    let log = start(&db);
    let refuse = match db.provider() {
        DatabaseKind::Postgres => "ALTER TABLE ai_usage ADD CHECK (model <> 'bad')",
        DatabaseKind::Sqlite => {
            "CREATE TRIGGER refuse BEFORE INSERT ON ai_usage WHEN NEW.model = 'bad'
             BEGIN SELECT RAISE(ABORT, 'bad'); END"
        }
    };
    execute(&db, refuse).await;

    log.record(record("bad"));
    (0..299).for_each(|_| log.record(record("good")));
    wait_until(|| log.written_count() == 299).await;

    assert_eq!(log.waiting_count(), 1);
    assert_eq!(log.dropped_count(), 0);
    assert_eq!(count_rows(&db).await, 299);
}

async fn draining_gives_up_after_its_limit_and_ends_the_task(db: Database) {
    let tasks = TaskTracker::new();
    let log = crate::credit_stores::start(&db, &tasks);
    execute(&db, "ALTER TABLE ai_usage RENAME TO away").await;
    (0..3).for_each(|_| log.record(record("gpt")));
    wait_until(|| log.failure_count() > 0).await;

    let lost_records = log.drain(Duration::from_millis(50)).await;
    tasks.close();
    tasks.wait().await;

    assert_eq!(lost_records, 3);
    assert_eq!(log.written_count(), 0);
}
