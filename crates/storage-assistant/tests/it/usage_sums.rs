//! Contract tests of the sums of usage.

use std::time::Duration;

use pia_assistant::{
    CallOutcome, Micros, UsageCursor, UsageDetails, UsageGrouping, UsageLog, UsageRange,
    UsageRecord, UsageSubject, UsageSum, UsageSums, UsageUsers,
};
use pia_kernel::{GroupId, Timestamp, UserId};
use pia_storage::{Database, DatabaseKind};
use pia_storage_assistant::SqlUsageSums;
use tokio_util::task::TaskTracker;

use crate::credit_stores::{
    TIME_LIMIT, default_group, execute, sign_up, start, wait_until_settled,
};
use crate::usage_log::record;

pia_testkit::contract! {
    sums_of_concurrent_instances_equal_the_recorded_calls,
    a_call_that_is_recorded_twice_counts_once,
    a_day_ends_at_midnight_in_utc,
    durations_are_summed_with_the_number_of_calls_that_have_one,
    each_user_of_a_day_is_counted_once,
    calls_of_no_account_belong_to_nobody,
    lists_are_limited_and_name_groups_and_people,
    users_are_paged_by_cost_calls_and_id,
    sums_of_a_group_are_of_its_calls_and_members,
}

const MICROS_PER_DAY: i64 = 24 * 3600 * 1_000_000;
/// First day of the tests, 1 November 2026, in days since 1970.
const FIRST_DAY: i64 = 20_758;

/// Returns a range of days of November 2026.
fn november(from: u32, to: u32) -> UsageRange {
    let day = |day: u32| format!("2026-11-{day:02}").parse().unwrap();
    UsageRange::new(day(from), day(to)).unwrap()
}

/// Returns a call in November 2026, on this day from 0.
fn call(day: i64, user: UserId) -> UsageRecord {
    UsageRecord {
        at: Timestamp::from_micros((FIRST_DAY + day) * MICROS_PER_DAY + 1),
        user,
        group: default_group(),
        spent: Micros(1000 + day),
        ..record("gpt")
    }
}

async fn sums(db: &Database, range: UsageRange, by: UsageGrouping) -> Vec<UsageSum> {
    SqlUsageSums::new(db.clone()).sums(range, by, None, 1000).await.unwrap()
}

async fn count_users_since(db: &Database, day: u32) -> i64 {
    let day = november(day, 30).first_day();
    SqlUsageSums::new(db.clone()).count_users_since(day).await.unwrap()
}

/// Calls of a subject and their cost, by the name of the subject.
#[derive(Debug, PartialEq, Eq)]
struct NamedSum {
    name: String,
    calls: i64,
    micros: i64,
}

fn named_sum(name: &str, calls: i64, micros: i64) -> NamedSum {
    NamedSum { name: name.to_owned(), calls, micros }
}

fn sums_by_name(sums: &[UsageSum]) -> Vec<NamedSum> {
    let name = |subject: &UsageSubject| match subject {
        UsageSubject::Day(day) => day.to_string(),
        UsageSubject::Group { id, name } => name.clone().unwrap_or(id.to_string()),
        UsageSubject::Model { provider, name } => format!("{provider} {name}"),
        UsageSubject::User { id, .. } => id.to_string(),
    };
    sums.iter().map(|it| named_sum(&name(&it.subject), it.calls, it.spent.0)).collect()
}

/// Creates an account for the usage of a user.
async fn new_user(db: &Database) -> UserId {
    let user = UserId::generate();
    sign_up(db, user, Timestamp::UNIX_EPOCH).await;
    user
}

/// Returns 1500 calls of seven users on 23 days, of two groups and two models; a third of them
/// failed.
fn varied_calls(users: &[UserId]) -> Vec<UsageRecord> {
    let other_group = GroupId::generate();
    let outcomes = [CallOutcome::Completed, CallOutcome::Abandoned, CallOutcome::Failed];
    (0..1500_usize)
        .map(|number| {
            let day = i64::try_from(number % 23).unwrap();
            let group = if number % 2 == 0 { default_group() } else { other_group };
            let model = ["gpt", "llama"][number % 5 % 2].to_owned();
            let outcome = outcomes[number % 3];
            UsageRecord { group, model, outcome, ..call(day, users[number % 7]) }
        })
        .collect()
}

async fn sums_of_concurrent_instances_equal_the_recorded_calls(db: Database) {
    let tasks = TaskTracker::new();
    let stores = [start(&db, &tasks), start(&db, &tasks), start(&db, &tasks)];
    let mut users = Vec::new();
    for _ in 0..7 {
        users.push(new_user(&db).await);
    }
    let calls = varied_calls(&users);

    std::thread::scope(|scope| {
        for (store, calls) in stores.iter().zip(calls.chunks(500)) {
            scope.spawn(|| calls.iter().for_each(|it| store.record(it.clone())));
        }
    });
    for store in &stores {
        assert_eq!(store.drain(TIME_LIMIT).await, 0);
        assert_eq!(store.failure_count(), 0);
    }

    let range = november(3, 20);
    let tables_before = tables(&db, range).await;
    let mut users_since = Vec::new();
    for day in [20, 21, 22, 23, 24] {
        users_since.push(count_users_since(&db, day).await);
    }
    assert_eq!(users_since, [7, 7, 7, 7, 0]);
    let lengths: Vec<usize> = tables_before.iter().map(Vec::len).collect();
    assert_eq!(lengths, [18, 2, 2, 7]);

    sum_again(&db).await;
    assert_eq!(tables_before.clone().map(without_durations), tables(&db, range).await);
    assert_eq!(count_users_since(&db, 23).await, 7);
    assert_eq!(count_users_since(&db, 24).await, 0);

    let in_range =
        |it: &&UsageRecord| (2..20).contains(&(it.at.micros() / MICROS_PER_DAY - FIRST_DAY));
    let calls_in_range = i64::try_from(calls.iter().filter(in_range).count()).unwrap();
    let micros_in_range: i64 = calls.iter().filter(in_range).map(|it| it.spent.0).sum();
    for sums in &tables_before {
        assert_eq!(sums.iter().map(|it| it.calls).sum::<i64>(), calls_in_range, "{sums:?}");
        assert_eq!(sums.iter().map(|it| it.spent.0).sum::<i64>(), micros_in_range, "{sums:?}");
    }

    // Each call has the tokens of `record`.
    let models = sums(&db, november(1, 30), UsageGrouping::Model).await;
    let details: Vec<UsageDetails> = models.iter().filter_map(|it| it.details).collect();
    assert_eq!(details.iter().map(|it| it.failed).sum::<i64>(), 1500 / 3);
    assert_eq!(details.iter().map(|it| it.input_tokens).sum::<i64>(), 1500 * 30);
    assert_eq!(details.iter().map(|it| it.cached_input_tokens).sum::<i64>(), 1500 * 20);
    assert_eq!(details.iter().map(|it| it.output_tokens).sum::<i64>(), 1500 * 10);
}

/// Sums the recorded calls as the migrations do, without durations.
async fn sum_again(db: &Database) {
    let tables = ["usage_by_group", "usage_by_user", "usage_users", "usage_days"];
    execute(db, &tables.map(|it| format!("DELETE FROM {it};")).concat()).await;
    for statements in backfills(db) {
        execute(db, statements).await;
    }
}

fn without_durations(sums: Vec<UsageSum>) -> Vec<UsageSum> {
    let without = |details| UsageDetails { timed_calls: 0, duration_millis: 0, ..details };
    sums.into_iter().map(|it| UsageSum { details: it.details.map(without), ..it }).collect()
}

/// Returns the statements of the migrations that sum the recorded calls.
fn backfills(db: &Database) -> [&'static str; 3] {
    let [sums, users, days] = match db.provider() {
        DatabaseKind::Sqlite => [
            include_str!("../../../../migrations/sqlite/2026-11-26-000420_usage_by_day/up.sql"),
            include_str!("../../../../migrations/sqlite/2026-11-27-000450_usage_users/up.sql"),
            include_str!("../../../../migrations/sqlite/2026-11-27-000510_usage_days/up.sql"),
        ],
        DatabaseKind::Postgres => [
            include_str!("../../../../migrations/postgres/2026-11-26-000420_usage_by_day/up.sql"),
            include_str!("../../../../migrations/postgres/2026-11-27-000450_usage_users/up.sql"),
            include_str!("../../../../migrations/postgres/2026-11-27-000510_usage_days/up.sql"),
        ],
    };
    [
        sums.split_once("usage_by_user (user_id);").unwrap().1,
        users.split_once("usage_users (last_day);").unwrap().1,
        days.split_once(';').unwrap().1,
    ]
}

/// Returns the sums by each subject.
async fn tables(db: &Database, range: UsageRange) -> [Vec<UsageSum>; 4] {
    let sums = UsageGrouping::ALL.map(|by| sums(db, range, by));
    futures_util::future::join_all(sums).await.try_into().unwrap()
}

async fn a_call_that_is_recorded_twice_counts_once(db: Database) {
    let store = start(&db, &TaskTracker::new());
    let call = call(0, UserId::generate());

    store.record(call.clone());
    store.record(call.clone());
    wait_until_settled(&store).await;
    store.record(call);
    store.drain(TIME_LIMIT).await;

    let days = sums_by_name(&sums(&db, november(1, 2), UsageGrouping::Day).await);
    assert_eq!(days, [named_sum("2026-11-01", 1, 1000)]);
}

async fn a_day_ends_at_midnight_in_utc(db: Database) {
    let store = start(&db, &TaskTracker::new());
    let user = new_user(&db).await;
    let at = |micros| UsageRecord { at: Timestamp::from_micros(micros), ..call(0, user) };

    store.record(at((FIRST_DAY + 10) * MICROS_PER_DAY - 1));
    store.record(at((FIRST_DAY + 10) * MICROS_PER_DAY));
    store.record(at((FIRST_DAY + 11) * MICROS_PER_DAY - 1));
    store.drain(TIME_LIMIT).await;

    let days = sums_by_name(&sums(&db, november(1, 30), UsageGrouping::Day).await);
    assert_eq!(days, [named_sum("2026-11-10", 1, 1000), named_sum("2026-11-11", 2, 2 * 1000)]);
    for (from, to, calls) in [(10, 10, 1), (11, 11, 2), (10, 11, 3), (1, 30, 3)] {
        let users = sums_by_name(&sums(&db, november(from, to), UsageGrouping::User).await);
        assert_eq!(users, [named_sum(&user.to_string(), calls, calls * 1000)], "{from} {to}");
    }
    for (from, to) in [(1, 9), (12, 12), (12, 30)] {
        assert_eq!(sums(&db, november(from, to), UsageGrouping::User).await, []);
    }
    assert_eq!(count_users_since(&db, 11).await, 1);
    assert_eq!(count_users_since(&db, 12).await, 0);
}

async fn durations_are_summed_with_the_number_of_calls_that_have_one(db: Database) {
    let store = start(&db, &TaskTracker::new());
    let of_duration = |millis| UsageRecord {
        duration: Duration::from_millis(millis),
        ..call(0, UserId::generate())
    };

    store.record(of_duration(1000));
    wait_until_settled(&store).await;
    // An instance of an earlier version counts a call without its duration.
    execute(&db, "UPDATE usage_by_group SET calls = calls + 1").await;
    store.record(of_duration(2001));
    store.drain(TIME_LIMIT).await;

    let days = sums(&db, november(1, 1), UsageGrouping::Day).await;
    let details = days[0].details.unwrap();
    assert_eq!(days[0].calls, 3);
    assert_eq!(details.timed_calls, 2);
    assert_eq!(details.duration_millis, 1000 + 2001);
}

async fn each_user_of_a_day_is_counted_once(db: Database) {
    let store = start(&db, &TaskTracker::new());
    let ada = new_user(&db).await;
    let bob = new_user(&db).await;

    for (user, day) in [(ada, 1), (ada, 0), (bob, 0), (ada, 0), (ada, 1)] {
        store.record(call(day, user));
        wait_until_settled(&store).await;
    }
    store.drain(TIME_LIMIT).await;

    let days = sums(&db, november(1, 30), UsageGrouping::Day).await;
    let groups = sums(&db, november(1, 30), UsageGrouping::Group).await;
    assert_eq!(days.iter().map(|it| it.users).collect::<Vec<_>>(), [Some(2), Some(1)]);
    assert_eq!(groups[0].users, None);
}

async fn calls_of_no_account_belong_to_nobody(db: Database) {
    let store = start(&db, &TaskTracker::new());

    (0..3).for_each(|_| store.record(call(0, UserId::generate())));
    let lost_records = store.drain(TIME_LIMIT).await;

    assert_eq!(lost_records, 0);
    assert_eq!(store.failure_count(), 0);
    let users = sums_by_name(&sums(&db, november(1, 1), UsageGrouping::User).await);
    assert_eq!(users, [named_sum("00000000-0000-0000-0000-000000000000", 3, 3000)]);
    assert_eq!(count_users_since(&db, 1).await, 0);
}

async fn lists_are_limited_and_name_groups_and_people(db: Database) {
    let store = start(&db, &TaskTracker::new());
    let ada = new_user(&db).await;
    let bob = new_user(&db).await;
    let deleted_group = GroupId::generate();

    for (user, day) in [(ada, 0), (bob, 0), (bob, 1)] {
        store.record(call(day, user));
    }
    store.record(UsageRecord { group: deleted_group, spent: Micros(1), ..call(0, bob) });
    store.drain(TIME_LIMIT).await;

    let report = SqlUsageSums::new(db.clone());
    let users = report.sums(november(1, 30), UsageGrouping::User, None, 1).await.unwrap();
    assert_eq!(users.len(), 1);
    let expected_user = UsageSubject::User { id: bob, email: Some(bob.to_string()) };
    assert_eq!(users[0].subject, expected_user);

    let groups = sums(&db, november(1, 30), UsageGrouping::Group).await;
    let subjects: Vec<_> = groups.into_iter().map(|it| it.subject).collect();
    let expected = [
        UsageSubject::Group { id: default_group(), name: Some("Default".to_owned()) },
        UsageSubject::Group { id: deleted_group, name: None },
    ];
    assert_eq!(subjects, expected);
}

async fn users_are_paged_by_cost_calls_and_id(db: Database) {
    let store = start(&db, &TaskTracker::new());
    let mut users = Vec::new();
    for _ in 0..4 {
        users.push(new_user(&db).await);
    }
    for (user, micros) in [(0, 1000), (1, 1000), (2, 500), (2, 500), (3, 2000)] {
        store.record(UsageRecord { spent: Micros(micros), ..call(0, users[user]) });
    }
    store.drain(TIME_LIMIT).await;
    let report = SqlUsageSums::new(db.clone());
    let range = november(1, 30);

    let mut selection = UsageUsers::First;
    let mut listed_sums = Vec::new();
    while let Some(sum) = report.user_sums(range, selection, None, 1).await.unwrap().pop() {
        selection = UsageUsers::After(UsageCursor::of(&sum).unwrap());
        listed_sums.push(sum);
    }

    let name = |user: usize| users[user].to_string();
    let expected = [
        named_sum(&name(3), 1, 2000),
        named_sum(&name(2), 2, 2 * 500),
        named_sum(&name(0), 1, 1000),
        named_sum(&name(1), 1, 1000),
    ];
    assert_eq!(sums_by_name(&listed_sums), expected);

    let sums_of_user = report.user_sums(range, UsageUsers::One(users[2]), None, 9).await.unwrap();
    assert_eq!(sums_of_user, listed_sums[1..2]);
    let stranger = UsageUsers::One(UserId::generate());
    assert_eq!(report.user_sums(range, stranger, None, 9).await.unwrap(), []);
}

async fn sums_of_a_group_are_of_its_calls_and_members(db: Database) {
    let store = start(&db, &TaskTracker::new());
    let users = [new_user(&db).await, new_user(&db).await];
    let other_group = GroupId::generate();
    store.record(call(0, users[0]));
    store.record(call(1, users[1]));
    store.record(UsageRecord { group: other_group, ..call(1, users[1]) });
    store.drain(TIME_LIMIT).await;
    let report = SqlUsageSums::new(db.clone());
    let of_group = async |by: UsageGrouping, group: GroupId| {
        report.sums(november(1, 30), by, Some(group), 9).await.unwrap()
    };

    let days = of_group(UsageGrouping::Day, other_group).await;
    assert_eq!(sums_by_name(&days), [named_sum("2026-11-02", 1, 1001)]);
    assert_eq!(days[0].users, None);
    for by in [UsageGrouping::Group, UsageGrouping::Model] {
        let calls: Vec<_> = of_group(by, other_group).await.iter().map(|it| it.calls).collect();
        assert_eq!(calls, [1], "{by:?}");
    }

    // Both are members of the default group.
    assert_eq!(of_group(UsageGrouping::User, default_group()).await.len(), 2);
    assert_eq!(of_group(UsageGrouping::User, other_group).await, []);
    let first_sum = of_group(UsageGrouping::User, default_group()).await.swap_remove(0);
    let after = UsageUsers::After(UsageCursor::of(&first_sum).unwrap());
    let group = Some(default_group());
    assert_eq!(report.user_sums(november(1, 30), after, group, 9).await.unwrap().len(), 1);
}
