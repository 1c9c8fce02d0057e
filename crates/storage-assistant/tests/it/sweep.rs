//! Tests for the release of calls whose instance died.

use std::sync::Arc;
use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_assistant::CreditStore;
use pia_kernel::{Clock, CreditLimits, LiveSetting, SystemClock};
use pia_storage::schema::credit_instances;
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use pia_storage_assistant::SqlCreditStore;
use tokio_util::task::TaskTracker;

use crate::credit_stores::{
    admit, assert_no_mismatches, create_member, credits, execute, request, start,
    wait_until_settled, window_count, window_counts,
};

pia_testkit::contract! {
    the_reservations_of_a_dead_instance_are_released_once,
    a_call_that_ends_after_its_release_is_still_charged,
    a_live_instance_keeps_its_reservations,
    a_stopped_instance_leaves_no_lease,
    instances_count_the_live_ones,
    a_dead_instance_is_not_counted,
    an_instance_stops_admitting_before_its_lease_expires,
    a_mismatched_window_is_found,
}

/// Expires all leases at once, so that no test waits for them.
async fn kill_all(db: &Database) {
    let past = match db.provider() {
        pia_storage::DatabaseKind::Postgres => "now() - interval '1 second'",
        pia_storage::DatabaseKind::Sqlite => "1",
    };
    execute(db, &format!("UPDATE credit_instances SET alive_until = {past}")).await;
}

async fn count_instances(db: &Database) -> i64 {
    let query = credit_instances::table.count();
    let count: Result<i64, DbError> = on_conn!(db.reader(), |conn| query.get_result(conn).await?);
    count.unwrap()
}

fn limits() -> CreditLimits {
    CreditLimits { hourly: 1000, group_weekly: 1000, ..CreditLimits::default() }
}

async fn the_reservations_of_a_dead_instance_are_released_once(db: Database) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let weeks = LiveSetting::new(pia_assistant::Weeks::UTC);
    let tasks = TaskTracker::new();
    let dead_store =
        SqlCreditStore::start(db.clone(), weeks, Arc::new(SystemClock), &tasks, runtime.handle());
    let ada = create_member(&db, limits()).await;
    for _ in 0..20 {
        std::mem::forget(admit(&dead_store, request(ada, 2)).await);
    }

    // The instance stops without ending its lease. Its connection is taken, so that
    // none of its statements is cut off.
    let connection = db.writer().await.unwrap();
    let shut_down = move || runtime.shutdown_timeout(Duration::from_secs(5));
    tokio::task::spawn_blocking(shut_down).await.unwrap();
    drop(connection);
    let tasks = TaskTracker::new();
    let live_stores = [start(&db, &tasks), start(&db, &tasks), start(&db, &tasks)];
    let counts_before = window_counts(&live_stores[0], ada).await;

    kill_all(&db).await;
    let reaper_results = join_all((0..9).map(|at| live_stores[at % 3].reap())).await;
    let counts_after = window_counts(&live_stores[0], ada).await;

    let expected =
        |reserved| ["hourly", "group-weekly"].map(|kind| window_count(kind, 0, reserved));
    // Twenty calls of two credits each.
    assert_eq!(counts_before, expected(40));
    assert_eq!(counts_after, expected(0));

    // The live instances may have been as quick, in their own rounds.
    let reaped_here: u64 = reaper_results.into_iter().map(|it| it.unwrap()).sum();
    let reaped_in_all: u64 = live_stores.iter().map(|it| it.counts().reaped_reservations).sum();
    assert!(reaped_here <= 40, "{reaped_here}");
    assert_eq!(reaped_in_all, 40);
    assert_no_mismatches(&live_stores[0]).await;
}

async fn a_call_that_ends_after_its_release_is_still_charged(db: Database) {
    let credit_store = start(&db, &TaskTracker::new());
    let ada = create_member(&db, limits()).await;
    let completed_call = admit(&credit_store, request(ada, 5)).await;
    let abandoned_call = admit(&credit_store, request(ada, 3)).await;
    // It may renew its lease meanwhile, by itself.
    while window_counts(&credit_store, ada).await[0].reserved > 0 {
        kill_all(&db).await;
        credit_store.reap().await.unwrap();
    }
    assert_eq!(window_counts(&credit_store, ada).await[0], window_count("hourly", 0, 0));

    let mut usage = crate::usage_log::record("gpt");
    usage.user = ada.member;
    completed_call.settle(credits(4), Some(usage));
    drop(abandoned_call);
    wait_until_settled(&credit_store).await;

    assert_eq!(window_counts(&credit_store, ada).await[0], window_count("hourly", 4, 0));
    assert_eq!(credit_store.counts().late_settlements, 1);
    assert_no_mismatches(&credit_store).await;
}

async fn a_live_instance_keeps_its_reservations(db: Database) {
    let credit_store = start(&db, &TaskTracker::new());
    let other_store = start(&db, &TaskTracker::new());
    let ada = create_member(&db, limits()).await;
    let _open_call = admit(&credit_store, request(ada, 5)).await;

    assert_eq!(other_store.reap().await.unwrap(), 0);
    assert_eq!(window_counts(&credit_store, ada).await[0], window_count("hourly", 0, 5));
}

async fn a_stopped_instance_leaves_no_lease(db: Database) {
    let tasks = TaskTracker::new();
    let credit_store = start(&db, &tasks);
    let ada = create_member(&db, limits()).await;
    drop(admit(&credit_store, request(ada, 5)).await);
    assert_eq!(count_instances(&db).await, 1);

    credit_store.drain(crate::credit_stores::TIME_LIMIT).await;
    tasks.close();
    tasks.wait().await;

    assert_eq!(count_instances(&db).await, 0);
}

async fn instances_count_the_live_ones(db: Database) {
    let staying = TaskTracker::new();
    let leaving = TaskTracker::new();
    let staying_store = start(&db, &staying);
    assert_eq!(staying_store.heartbeat().await.unwrap(), 1);

    let leaving_store = start(&db, &leaving);
    assert_eq!(leaving_store.heartbeat().await.unwrap(), 2);
    assert_eq!(staying_store.heartbeat().await.unwrap(), 2);
    assert_eq!(*staying_store.instances().get(), 2);
    assert_eq!(*leaving_store.instances().get(), 2);

    leaving_store.drain(crate::credit_stores::TIME_LIMIT).await;
    leaving.close();
    leaving.wait().await;
    assert_eq!(staying_store.heartbeat().await.unwrap(), 1);
    assert_eq!(*staying_store.instances().get(), 1);
}

async fn a_dead_instance_is_not_counted(db: Database) {
    let credit_store = start(&db, &TaskTracker::new());
    credit_store.heartbeat().await.unwrap();
    // The other instances exist only as leases.
    let soon = DbInstant(SystemClock.now() + Duration::from_mins(1));
    let lease = |id: u128| {
        let id = DbUid(uuid::Uuid::from_u128(id));
        (credit_instances::id.eq(id), credit_instances::alive_until.eq(soon))
    };
    let leases = [lease(1), lease(2)];
    let result: Result<usize, DbError> = on_conn!(db.writer(), |conn| {
        let mut inserted_rows = 0;
        for lease in leases {
            inserted_rows +=
                diesel::insert_into(credit_instances::table).values(lease).execute(conn).await?;
        }
        inserted_rows
    });
    assert_eq!(result.unwrap(), 2);
    assert_eq!(credit_store.heartbeat().await.unwrap(), 1 + 2);

    kill_all(&db).await;

    assert_eq!(credit_store.heartbeat().await.unwrap(), 1);
}

async fn advance_tokio_clock(seconds: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(seconds)).await;
    tokio::time::resume();
}

async fn an_instance_stops_admitting_before_its_lease_expires(db: Database) {
    let other_store = start(&db, &TaskTracker::new());
    let with_own_clock = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let credit_store = start(&db, &TaskTracker::new());
            let ada = create_member(&db, limits()).await;
            let first_call = admit(&credit_store, request(ada, 5)).await;
            credit_store.heartbeat().await.unwrap();
            // All else that a call needs is available.
            execute(&db, "ALTER TABLE credit_instances RENAME TO away").await;

            advance_tokio_clock(8).await;
            let second_call = admit(&credit_store, request(ada, 1)).await;
            advance_tokio_clock(2).await;
            let late_admission = credit_store.admit(request(ada, 1)).await;
            assert!(late_admission.is_err(), "{late_admission:?}");
            assert_eq!(
                window_counts(&credit_store, ada).await[0],
                window_count("hourly", 0, 5 + 1)
            );

            execute(&db, "ALTER TABLE away RENAME TO credit_instances").await;
            // By the database's clock its lease is still valid.
            assert_eq!(other_store.reap().await.unwrap(), 0);
            let third_call = admit(&credit_store, request(ada, 1)).await;

            drop([first_call, second_call, third_call]);
            wait_until_settled(&credit_store).await;
            assert_no_mismatches(&credit_store).await;
        });
    };
    tokio::task::spawn_blocking(with_own_clock).await.unwrap();
}

async fn a_mismatched_window_is_found(db: Database) {
    let credit_store = start(&db, &TaskTracker::new());
    let ada = create_member(&db, limits()).await;
    let _open_call = admit(&credit_store, request(ada, 5)).await;
    execute(&db, "UPDATE credit_windows SET reserved = reserved + 7 WHERE kind = 'hourly'").await;

    let mismatches = credit_store.find_mismatches().await.unwrap();
    let [mismatch] = mismatches.as_slice() else { panic!("{mismatches:?}") };
    assert_eq!(mismatch.window, format!("{}:hourly", ada.member));
    assert_eq!(mismatch.reserved.0, 5_000_007);
    assert_eq!(mismatch.open.0, 5_000_000);
}
