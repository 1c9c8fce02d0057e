//! Contract tests of the sums of usage by hour.

use std::time::Duration;

use chrono::{DateTime, Days, NaiveDate, Utc};
use pia_assistant::{CallOutcome, Micros, UsageHour, UsageLog, UsageRecord, UsageSums};
use pia_kernel::{Clock as _, SystemClock, Timestamp, UserId};
use pia_storage::{Database, DatabaseKind};
use pia_storage_assistant::SqlUsageSums;
use tokio_util::task::TaskTracker;

use crate::credit_stores::{TIME_LIMIT, execute, sign_up, start};
use crate::usage_log::record;

pia_testkit::contract! {
    hours_have_the_sums_of_their_calls_and_count_each_user_once,
    hours_before_a_day_are_deleted,
}

const MICROS_PER_HOUR: i64 = 3600 * 1_000_000;

fn today() -> NaiveDate {
    DateTime::<Utc>::from(SystemClock.now()).date_naive()
}

fn day_before(day: NaiveDate) -> NaiveDate {
    day.checked_sub_days(Days::new(1)).unwrap()
}

/// Returns a call within an hour of a day.
fn call(day: NaiveDate, hour: i64, micros: i64, user: UserId) -> UsageRecord {
    let hours = i64::from(day.to_epoch_days()) * 24 + hour;
    UsageRecord {
        at: Timestamp::from_micros(hours * MICROS_PER_HOUR + micros),
        user,
        spent: Micros(1000),
        duration: Duration::from_millis(1500),
        ..record("gpt")
    }
}

/// Returns the sum of calls as those of `call`.
fn hour_sum(hour: u32, users: i64, calls: i64, failed: i64) -> UsageHour {
    let spent = Micros(calls * 1000);
    UsageHour { hour, users, calls, failed, spent, duration_millis: calls * 1500 }
}

async fn hours_of(db: &Database, day: NaiveDate) -> Vec<UsageHour> {
    SqlUsageSums::new(db.clone()).hours_of(day).await.unwrap()
}

/// Returns the statement of the migration that sums the recorded calls.
fn backfill(db: &Database) -> &'static str {
    let migration = match db.provider() {
        DatabaseKind::Sqlite => {
            include_str!("../../../../migrations/sqlite/2026-11-27-000550_usage_by_hour/up.sql")
        }
        DatabaseKind::Postgres => {
            include_str!("../../../../migrations/postgres/2026-11-27-000550_usage_by_hour/up.sql")
        }
    };
    let start = migration.find("INSERT INTO").unwrap();
    migration.get(start..).unwrap()
}

async fn hours_have_the_sums_of_their_calls_and_count_each_user_once(db: Database) {
    let tasks = TaskTracker::new();
    let stores = [start(&db, &tasks), start(&db, &tasks)];
    let users = [UserId::generate(), UserId::generate()];
    for user in users {
        sign_up(&db, user, Timestamp::UNIX_EPOCH).await;
    }
    let today = today();
    let yesterday = day_before(today);

    for number in 0..300_usize {
        let (hour, micros) = [(0, 0), (9, 5), (23, MICROS_PER_HOUR - 1)][number % 3];
        let outcome = if number % 4 == 0 { CallOutcome::Failed } else { CallOutcome::Completed };
        let user = users[number % 2];
        stores[number / 150].record(UsageRecord { outcome, ..call(today, hour, micros, user) });
    }
    // Accounts that are deleted.
    (0..10).for_each(|_| stores[0].record(call(today, 9, 7, UserId::generate())));
    let repeated_call = call(yesterday, 23, MICROS_PER_HOUR - 1, users[0]);
    stores[0].record(repeated_call.clone());
    stores[0].record(repeated_call);
    for store in &stores {
        assert_eq!(store.drain(TIME_LIMIT).await, 0);
        assert_eq!(store.failure_count(), 0);
    }

    let expected = [hour_sum(0, 2, 100, 25), hour_sum(9, 2, 110, 25), hour_sum(23, 2, 100, 25)];
    assert_eq!(hours_of(&db, today).await, expected);
    assert_eq!(hours_of(&db, yesterday).await, [hour_sum(23, 1, 1, 0)]);
    execute(&db, "DELETE FROM usage_by_hour").await;
    execute(&db, backfill(&db)).await;
    assert_eq!(hours_of(&db, today).await, expected);
    assert_eq!(hours_of(&db, yesterday).await, [hour_sum(23, 1, 1, 0)]);
}

async fn hours_before_a_day_are_deleted(db: Database) {
    let store = start(&db, &TaskTracker::new());
    let user = UserId::generate();
    sign_up(&db, user, Timestamp::UNIX_EPOCH).await;
    let today = today();
    let yesterday = day_before(today);
    for (day, hour) in [(yesterday, 0), (yesterday, 23), (today, 0)] {
        store.record(call(day, hour, 0, user));
    }
    store.drain(TIME_LIMIT).await;

    let sums = SqlUsageSums::new(db.clone());
    let first_count = sums.delete_hours(yesterday).await.unwrap();
    let second_count = sums.delete_hours(today).await.unwrap();

    assert_eq!([first_count, second_count], [0, 2]);
    assert_eq!(hours_of(&db, yesterday).await, []);
    assert_eq!(hours_of(&db, today).await, [hour_sum(0, 1, 1, 0)]);
}
