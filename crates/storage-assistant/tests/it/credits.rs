//! Contract tests of admission and settlement.

use std::sync::Arc;
use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_assistant::{
    AdmissionOutcome, ApiKeyBudget, CallOutcome, CreditHolder, CreditStore, Micros, Mode, Period,
    Rates, ReservationLine, Settlement, SettlementSink, TopUpOutcome, Usage, UsageLog, UsageRecord,
    Weeks, WindowKind,
};
use pia_kernel::{
    ApiKeyId, BudgetPeriod, CreditLimits, GroupId, LiveSetting, SideEffects, Timestamp, UserId,
};
use pia_storage::schema::{accounts, ai_usage, user_groups};
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use pia_storage_assistant::SqlCreditStore;
use pia_testkit::ManualClock;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::credit_stores::{
    TIME_LIMIT, admit, assert_no_mismatches, create_member, credits, default_group, execute,
    refusal_of, request, sign_up, start, start_at, start_with_weeks, wait_until_settled,
    window_count, window_counts,
};

pia_testkit::contract! {
    a_reservation_is_settled_in_every_window,
    two_instances_together_admit_no_more_than_the_budget,
    concurrent_settlements_never_exceed_the_limit,
    members_of_two_groups_do_not_deadlock,
    a_caller_whose_runtime_ends_does_not_block_others,
    unspent_credits_are_available_at_once,
    a_cancelled_request_leaves_no_reservation,
    without_a_database_calls_are_refused_and_settled_later,
    a_call_is_settled_with_its_usage_or_not_at_all,
    a_batch_that_is_booked_twice_is_charged_once,
    a_record_that_the_database_rejects_does_not_block_admission,
    rolling_windows_age_out,
    the_pool_is_filled_once_with_the_unused_credits_of_last_week,
    a_week_continues_in_another_time_zone,
    top_ups_are_drawn_last_and_stay,
    an_api_keys_budget_is_counted_separately,
    a_deleted_account_is_not_admitted_and_holds_no_credits,
    draining_settles_ended_calls,
}

fn hourly_and_group_limits(hourly: i64, group_weekly: i64) -> CreditLimits {
    CreditLimits { hourly, group_weekly, ..CreditLimits::default() }
}

fn usage(user: UserId) -> UsageRecord {
    UsageRecord {
        id: Uuid::now_v7(),
        at: Timestamp::from_micros(1_234_567),
        user,
        group: default_group(),
        key: None,
        mode: Mode::Assistant,
        provider: "OpenAI",
        entry: None,
        model: "gpt".to_owned(),
        tokens: Usage::default(),
        rates: Rates::default(),
        spent: credits(1),
        estimated: false,
        outcome: CallOutcome::Completed,
        duration: Duration::ZERO,
    }
}

/// Returns 15 January 2027, a Friday.
fn friday() -> Timestamp {
    Timestamp::from_micros(1_800_000_000_000_000)
}

/// Makes a call that spends this many credits, and waits until it is settled.
async fn spend(credit_store: &SqlCreditStore, holder: CreditHolder, spent: i64) {
    let reservation = admit(credit_store, request(holder, spent)).await;
    reservation.settle(credits(spent), Some(usage(holder.member)));
    wait_until_settled(credit_store).await;
}

/// Returns the number of stored usage records.
async fn count_records(db: &Database) -> i64 {
    let query = ai_usage::table.count();
    let count: Result<i64, DbError> = on_conn!(db.reader(), |conn| query.get_result(conn).await?);
    count.unwrap()
}

async fn a_reservation_is_settled_in_every_window(db: Database) {
    let credit_store = start(&db, &TaskTracker::new());
    let limits = CreditLimits {
        hourly: 10,
        daily: 20,
        weekly: 30,
        group_daily: 40,
        group_weekly: 50,
        pool: true,
    };
    let ada = create_member(&db, limits).await;

    let reservation = admit(&credit_store, request(ada, 4)).await;
    let counts_of_open_call = window_counts(&credit_store, ada).await;
    assert_no_mismatches(&credit_store).await;
    reservation.settle(credits(3), Some(usage(ada.member)));
    wait_until_settled(&credit_store).await;

    let kinds = ["hourly", "daily", "weekly", "group-daily", "group-weekly"];
    let expected = |used, reserved| {
        let mut counts = kinds.map(|kind| window_count(kind, used, reserved)).to_vec();
        counts.push(window_count("pool", 0, 0));
        // No top-up was bought.
        counts.push(window_count("top-up", 0, 0));
        counts
    };
    assert_eq!(counts_of_open_call, expected(0, 4));
    assert_eq!(window_counts(&credit_store, ada).await, expected(3, 0));
    assert_eq!(count_records(&db).await, 1);
    assert_no_mismatches(&credit_store).await;
    let counts = credit_store.counts();
    assert_eq!(counts.admitted, 1);
    assert_eq!(counts.open, 0);
    assert_eq!(counts.late_settlements, 0);
}

async fn two_instances_together_admit_no_more_than_the_budget(db: Database) {
    let tasks = TaskTracker::new();
    let stores = [start(&db, &tasks), start(&db, &tasks)];
    let mut members = Vec::new();
    for _ in 0..20 {
        members.push(create_member(&db, hourly_and_group_limits(1000, 100)).await);
    }

    let calls = (0..200).map(|at| {
        let credit_store = stores[at % 2].clone();
        let holder = members[at % 20];
        async move { credit_store.admit(request(holder, 2)).await.unwrap() }
    });
    let reservations: Vec<_> = join_all(calls)
        .await
        .into_iter()
        .filter_map(|it| match it {
            AdmissionOutcome::Granted { reservation, output, .. } => {
                assert_eq!(output, 2000);
                Some(reservation)
            }
            AdmissionOutcome::Refused(refusal) => {
                assert_eq!(refusal.period, Period::Budget(BudgetPeriod::GroupWeekly));
                None
            }
        })
        .collect();

    // The group's 100 credits suffice for 50 calls of 2.
    assert_eq!(reservations.len(), 50);
    assert_no_mismatches(&stores[0]).await;

    drop(reservations);
    for credit_store in &stores {
        wait_until_settled(credit_store).await;
    }

    let counts = window_counts(&stores[0], members[0]).await;
    assert_eq!(counts[1], window_count("group-weekly", 0, 0));
    assert_no_mismatches(&stores[0]).await;
}

async fn concurrent_settlements_never_exceed_the_limit(db: Database) {
    let tasks = TaskTracker::new();
    let stores = [start(&db, &tasks), start(&db, &tasks)];
    let ada = create_member(&db, hourly_and_group_limits(100, 0)).await;

    let calls = (0..400).map(|at| {
        let credit_store = stores[at % 2].clone();
        async move {
            match credit_store.admit(request(ada, 2)).await.unwrap() {
                AdmissionOutcome::Granted { reservation, .. } => {
                    reservation.settle(credits(1), Some(usage(ada.member)));
                    1
                }
                AdmissionOutcome::Refused(_) => 0,
            }
        }
    });
    let admitted_calls: i64 = join_all(calls).await.into_iter().sum();
    for credit_store in &stores {
        wait_until_settled(credit_store).await;
    }

    assert!((50..100).contains(&admitted_calls), "{admitted_calls}");
    assert_eq!(window_counts(&stores[0], ada).await, [window_count("hourly", admitted_calls, 0)]);
    assert_eq!(count_records(&db).await, admitted_calls);
    assert_no_mismatches(&stores[0]).await;
}

async fn unspent_credits_are_available_at_once(db: Database) {
    let credit_store = start(&db, &TaskTracker::new());
    let ada = create_member(&db, hourly_and_group_limits(20, 0)).await;

    // Each needs the credits that the one before had reserved and did not spend:
    // the first of each pair to be admitted at all, the others in full.
    for _ in 0..10 {
        let reservation = admit(&credit_store, request(ada, 20)).await;
        reservation.settle(credits(0), Some(usage(ada.member)));
        let reservation = admit(&credit_store, request(ada, 10)).await;
        reservation.settle(credits(0), None);
        match credit_store.admit(request(ada, 20)).await.unwrap() {
            AdmissionOutcome::Granted { output, .. } => assert_eq!(output, 20_000),
            AdmissionOutcome::Refused(refusal) => panic!("refused: {refusal:?}"),
        }
    }

    wait_until_settled(&credit_store).await;
    assert_eq!(count_records(&db).await, 10);
    assert_no_mismatches(&credit_store).await;
}

/// Each call locks a window of its caller's and one of the group's, and each
/// batch many of both.
async fn members_of_two_groups_do_not_deadlock(db: Database) {
    let tasks = TaskTracker::new();
    let stores = [start(&db, &tasks), start(&db, &tasks), start(&db, &tasks)];
    let other_group = GroupId::generate();
    let insertion = diesel::insert_into(user_groups::table).values((
        user_groups::id.eq(DbUid(other_group.0)),
        user_groups::name.eq("Other"),
        user_groups::name_folded.eq("other"),
        user_groups::is_default.eq(false),
        user_groups::created_at.eq(DbInstant(Timestamp::UNIX_EPOCH)),
    ));
    let result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| insertion.execute(conn).await?);
    result.unwrap();

    let mut members = Vec::new();
    for at in 0..30 {
        let holder = create_member(&db, hourly_and_group_limits(1000, 100_000)).await;
        let group = if at % 2 == 0 { holder.group } else { other_group };
        members.push(CreditHolder { group, ..holder });
    }

    let calls = (0..300).map(|at| {
        let credit_store = stores[at % 3].clone();
        let holder = members[(at * 7) % 30];
        async move { drop(admit(&credit_store, request(holder, 2)).await) }
    });
    join_all(calls).await;
    for credit_store in &stores {
        wait_until_settled(credit_store).await;
        assert_eq!(credit_store.failure_count(), 0);
    }

    assert_no_mismatches(&stores[0]).await;
}

/// Simulates workers that end during their calls while others go on.
async fn a_caller_whose_runtime_ends_does_not_block_others(db: Database) {
    let credit_store = start(&db, &TaskTracker::new());
    let ada = create_member(&db, hourly_and_group_limits(100_000, 0)).await;
    drop(admit(&credit_store, request(ada, 2)).await);

    for at in 0..30_u64 {
        let store = credit_store.clone();
        let worker = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let wait = Duration::from_micros(at * 50);
            let admission = async { drop(store.admit(request(ada, 2)).await) };
            drop(runtime.block_on(async { tokio::time::timeout(wait, admission).await }));
        });
        let outcome = tokio::time::timeout(TIME_LIMIT, credit_store.admit(request(ada, 2))).await;
        assert!(matches!(outcome, Ok(Ok(AdmissionOutcome::Granted { .. }))), "{at}: {outcome:?}");
        tokio::task::spawn_blocking(|| worker.join().unwrap()).await.unwrap();
    }

    wait_until_settled(&credit_store).await;
    assert_no_mismatches(&credit_store).await;
}

async fn a_cancelled_request_leaves_no_reservation(db: Database) {
    let credit_store = start(&db, &TaskTracker::new());
    let ada = create_member(&db, hourly_and_group_limits(100, 0)).await;

    for polls in 0..20 {
        let mut admission = Box::pin(credit_store.admit(request(ada, 2)));
        let first_poll =
            std::future::poll_fn(|cx| std::task::Poll::Ready(admission.as_mut().poll(cx)));
        drop(first_poll.await);
        // Dropped at once, or a little later.
        for _ in 0..polls * 10 {
            tokio::task::yield_now().await;
        }
        drop(admission);
    }
    drop(admit(&credit_store, request(ada, 2)).await);
    wait_until_settled(&credit_store).await;

    assert_eq!(window_counts(&credit_store, ada).await, [window_count("hourly", 0, 0)]);
    assert_no_mismatches(&credit_store).await;
}

async fn without_a_database_calls_are_refused_and_settled_later(db: Database) {
    let credit_store = start(&db, &TaskTracker::new());
    let ada = create_member(&db, hourly_and_group_limits(100, 0)).await;
    let reservation = admit(&credit_store, request(ada, 2)).await;
    execute(&db, "ALTER TABLE credit_windows RENAME TO away").await;

    let admission = credit_store.admit(request(ada, 2)).await;
    reservation.settle(credits(1), Some(usage(ada.member)));
    while credit_store.failure_count() == 0 {
        tokio::task::yield_now().await;
    }
    assert!(admission.is_err());
    assert!(credit_store.waiting_count() > 0);

    execute(&db, "ALTER TABLE away RENAME TO credit_windows").await;
    wait_until_settled(&credit_store).await;

    assert_eq!(window_counts(&credit_store, ada).await, [window_count("hourly", 1, 0)]);
    assert_no_mismatches(&credit_store).await;
    drop(admit(&credit_store, request(ada, 2)).await);
}

async fn a_call_is_settled_with_its_usage_or_not_at_all(db: Database) {
    let credit_store = start(&db, &TaskTracker::new());
    let ada = create_member(&db, hourly_and_group_limits(100, 0)).await;
    let reservation = admit(&credit_store, request(ada, 2)).await;
    execute(&db, "ALTER TABLE ai_usage RENAME TO away").await;

    reservation.settle(credits(1), Some(usage(ada.member)));
    while credit_store.failure_count() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(window_counts(&credit_store, ada).await, [window_count("hourly", 0, 2)]);

    execute(&db, "ALTER TABLE away RENAME TO ai_usage").await;
    wait_until_settled(&credit_store).await;

    assert_eq!(window_counts(&credit_store, ada).await, [window_count("hourly", 1, 0)]);
    assert_eq!(count_records(&db).await, 1);
}

/// Simulates a commit whose response was lost.
async fn a_batch_that_is_booked_twice_is_charged_once(db: Database) {
    let credit_store = start(&db, &TaskTracker::new());
    let ada = create_member(&db, hourly_and_group_limits(100, 0)).await;
    let reservation = admit(&credit_store, request(ada, 2)).await;
    let credit_windows = credit_store.load_windows(ada).await.unwrap();
    let lines = credit_windows
        .windows
        .into_keys()
        .map(|window| ReservationLine { window, amount: credits(2) })
        .collect();
    let settlement = Settlement {
        reservation: reservation.reservation(),
        lines,
        spent: credits(1),
        usage: Some(usage(ada.member)),
    };
    std::mem::forget(reservation);

    for _ in 0..2 {
        credit_store.settle(settlement.clone());
        wait_until_settled(&credit_store).await;
    }

    assert_eq!(window_counts(&credit_store, ada).await, [window_count("hourly", 1, 0)]);
    assert_eq!(count_records(&db).await, 1);
    assert_eq!(credit_store.counts().late_settlements, 0);
}

async fn a_record_that_the_database_rejects_does_not_block_admission(db: Database) {
    let credit_store = start(&db, &TaskTracker::new());
    let ada = create_member(&db, hourly_and_group_limits(1000, 0)).await;
    execute(&db, "ALTER TABLE ai_usage RENAME TO away").await;

    credit_store.record(usage(ada.member));
    for _ in 0..20 {
        drop(admit(&credit_store, request(ada, 2)).await);
    }

    assert!(credit_store.waiting_count() > 0);
}

async fn rolling_windows_age_out(db: Database) {
    let clock = Arc::new(ManualClock::new(friday()));
    let credit_store = start_at(&db, Arc::<ManualClock>::clone(&clock), &TaskTracker::new());
    let ada =
        create_member(&db, CreditLimits { hourly: 4, daily: 6, ..CreditLimits::default() }).await;

    spend(&credit_store, ada, 4).await;
    let hourly_refusal = refusal_of(&credit_store, request(ada, 2)).await;
    assert_eq!(hourly_refusal.period, Period::Budget(BudgetPeriod::Hourly));

    clock.advance(Duration::from_mins(61));
    spend(&credit_store, ada, 2).await;
    let daily_refusal = refusal_of(&credit_store, request(ada, 2)).await;
    assert_eq!(daily_refusal.period, Period::Budget(BudgetPeriod::Daily));

    // More than a day and a quarter of an hour after the first call.
    clock.advance(Duration::from_mins(23 * 60 + 15));
    drop(admit(&credit_store, request(ada, 4)).await);
}

async fn the_pool_is_filled_once_with_the_unused_credits_of_last_week(db: Database) {
    let monday = Weeks::UTC.start(friday());
    let clock = Arc::new(ManualClock::new(monday + Duration::from_hours(1)));
    let tasks = TaskTracker::new();
    let stores = [
        start_at(&db, Arc::<ManualClock>::clone(&clock), &tasks),
        start_at(&db, Arc::<ManualClock>::clone(&clock), &tasks),
    ];
    let limits = CreditLimits { weekly: 10, pool: true, ..CreditLimits::default() };
    let ada = create_member(&db, limits).await;
    let bob = create_member(&db, limits).await;
    // A member who joined this week left nothing of the last.
    sign_up(&db, UserId::generate(), monday + Duration::from_hours(24 * 8)).await;

    // Without calls last week, two members left 10 each.
    assert_eq!(pool_total(&stores[0], ada).await, Some(credits(10 + 10)));

    spend(&stores[0], ada, 7).await;
    clock.set(monday + Duration::from_hours(24 * 7 + 1));
    let calls = (0..40).map(|at| {
        let credit_store = stores[at % 2].clone();
        let holder = if at < 20 { ada } else { bob };
        async move { credit_store.admit(request(holder, 1)).await.unwrap() }
    });
    let admissions = join_all(calls).await;
    assert_no_mismatches(&stores[0]).await;

    // Of this week they left 3 and 10, whichever instance reads first.
    assert_eq!(pool_total(&stores[1], bob).await, Some(credits(3 + 10)));
    let granted_calls =
        admissions.iter().filter(|it| matches!(it, AdmissionOutcome::Granted { .. })).count();
    assert_eq!(granted_calls, 10 + 10 + 13);
    let refusal = refusal_of(&stores[0], request(bob, 1)).await;
    let pool = refusal.pool.unwrap();
    assert_eq!(refusal.period, Period::Budget(BudgetPeriod::Weekly));
    assert_eq!(pool.limit, 13);
    assert_eq!(pool.used, 13);
}

/// Returns the size of the pool of a holder's group.
async fn pool_total(credit_store: &SqlCreditStore, holder: CreditHolder) -> Option<Micros> {
    let windows = credit_store.load_windows(holder).await.unwrap().windows;
    windows.values().find(|it| it.key.kind == WindowKind::Pool).map(|it| it.total)
}

async fn a_week_continues_in_another_time_zone(db: Database) {
    let zone = |id| Weeks::of_zone(id).unwrap();
    let monday = zone("Europe/Berlin").start(friday());
    let clock = Arc::new(ManualClock::new(monday + Duration::from_hours(50)));
    let weeks = LiveSetting::new(zone("Europe/Berlin"));
    let tasks = TaskTracker::new();
    let credit_store =
        start_with_weeks(&db, weeks.clone(), Arc::<ManualClock>::clone(&clock), &tasks);
    let limits = CreditLimits { weekly: 10, pool: true, ..CreditLimits::default() };
    let ada = create_member(&db, limits).await;
    let bob = create_member(&db, limits).await;
    let used_this_week = async || {
        let counts = window_counts(&credit_store, ada).await;
        counts.iter().find(|it| it.kind == "weekly").map(|it| it.used)
    };
    spend(&credit_store, ada, 4).await;
    spend(&credit_store, bob, 3).await;

    weeks.set(zone("America/Los_Angeles"));
    assert_eq!(used_this_week().await, Some(4));

    spend(&credit_store, ada, 2).await;
    assert_eq!(used_this_week().await, Some(4 + 2));

    clock.advance(Duration::from_hours(7 * 24));
    assert_eq!(used_this_week().await, Some(0));
    // Four of Ada's, and seven of Bob's, who has made no call since.
    assert_eq!(pool_total(&credit_store, ada).await, Some(credits(4 + 7)));
}

async fn top_ups_are_drawn_last_and_stay(db: Database) {
    let clock = Arc::new(ManualClock::new(friday()));
    let credit_store = start_at(&db, Arc::<ManualClock>::clone(&clock), &TaskTracker::new());
    let ada = create_member(&db, CreditLimits { weekly: 2, ..CreditLimits::default() }).await;
    let top_up =
        |group, expected| credit_store.top_up(group, credits(1), expected, SideEffects::default());

    let of_unknown = top_up(GroupId::generate(), None).await.unwrap();
    assert_eq!(of_unknown, TopUpOutcome::UnknownGroup);
    let first_outcomes = join_all((0..4).map(|_| top_up(ada.group, None))).await;
    let first_totals: Vec<_> = first_outcomes.into_iter().map(Result::unwrap).collect();
    assert!(first_totals.contains(&TopUpOutcome::Done(credits(4))), "{first_totals:?}");

    // Of repeated requests, one adds credits.
    let repeated = join_all((0..4).map(|_| top_up(ada.group, Some(credits(4))))).await;
    let outcomes: Vec<_> = repeated.into_iter().map(Result::unwrap).collect();
    let count_of = |outcome| outcomes.iter().filter(|it| **it == outcome).count();
    assert_eq!(count_of(TopUpOutcome::Done(credits(5))), 1);
    assert_eq!(count_of(TopUpOutcome::Stale), 3);
    assert_eq!(credit_store.load_top_ups(ada.group).await.unwrap(), credits(5));

    // Two of the allowance, and two of the top-ups.
    spend(&credit_store, ada, 4).await;
    clock.advance(Duration::from_hours(24 * 21));
    // Another week's allowance, and the three that remain.
    drop(admit(&credit_store, request(ada, 5)).await);
    wait_until_settled(&credit_store).await;
    spend(&credit_store, ada, 5).await;

    let refusal = refusal_of(&credit_store, request(ada, 1)).await;
    let top_up_gauge = refusal.top_up.unwrap();
    assert_eq!(top_up_gauge.limit, 5);
    assert_eq!(top_up_gauge.used, 5);
    assert_eq!(refusal.pool, None);
}

async fn an_api_keys_budget_is_counted_separately(db: Database) {
    let credit_store = start(&db, &TaskTracker::new());
    let ada = create_member(&db, CreditLimits::default()).await;
    let with_new_key = || {
        let budget = ApiKeyBudget { key: ApiKeyId::generate(), weekly: 2 };
        CreditHolder { key: Some(budget), ..ada }
    };
    let first_key = with_new_key();
    let second_key = with_new_key();

    spend(&credit_store, first_key, 2).await;

    let refusal = refusal_of(&credit_store, request(first_key, 1)).await;
    assert_eq!(refusal.period, Period::Budget(BudgetPeriod::Weekly));
    drop(admit(&credit_store, request(second_key, 1)).await);
}

async fn a_deleted_account_is_not_admitted_and_holds_no_credits(db: Database) {
    let credit_store = start(&db, &TaskTracker::new());
    let ada = create_member(&db, hourly_and_group_limits(10, 10)).await;
    let stranger = CreditHolder { member: UserId::generate(), ..ada };
    let reservation = admit(&credit_store, request(ada, 2)).await;
    let account = accounts::table.find(DbUid(ada.member.0));
    let result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| diesel::delete(account).execute(conn).await?);
    result.unwrap();

    assert!(credit_store.admit(request(stranger, 2)).await.is_err());
    assert!(credit_store.admit(request(ada, 2)).await.is_err());
    reservation.settle(credits(1), Some(usage(ada.member)));
    wait_until_settled(&credit_store).await;

    let expected = [window_count("hourly", 0, 0), window_count("group-weekly", 1, 0)];
    assert_eq!(window_counts(&credit_store, ada).await, expected);
    assert_no_mismatches(&credit_store).await;
}

async fn draining_settles_ended_calls(db: Database) {
    let tasks = TaskTracker::new();
    let credit_store = start(&db, &tasks);
    let ada = create_member(&db, hourly_and_group_limits(10, 0)).await;
    let reservation = admit(&credit_store, request(ada, 2)).await;

    reservation.settle(credits(1), Some(usage(ada.member)));
    let lost_records = credit_store.drain(TIME_LIMIT).await;
    tasks.close();
    tasks.wait().await;

    assert_eq!(lost_records, 0);
    assert_eq!(window_counts(&credit_store, ada).await, [window_count("hourly", 1, 0)]);
    assert!(credit_store.admit(request(ada, 2)).await.is_err());
}
