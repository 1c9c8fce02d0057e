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

use crate::banks::{admitted, ask, counted, credits, execute, member, settled, sound, start};

pia_testkit::contract! {
    what_a_killed_instance_reserved_is_released_once,
    a_call_that_ends_after_it_was_released_is_charged_all_the_same,
    an_instance_that_lives_keeps_what_it_reserved,
    an_instance_that_ends_leaves_no_row,
    instances_know_how_many_they_are,
    an_instance_that_died_is_not_counted,
    one_that_cannot_say_that_it_is_alive_admits_nobody_before_another_may_think_it_dead,
    a_window_that_does_not_agree_is_found,
}

/// Expires a lease at once, so that no test waits for it.
const DIES: &str = "UPDATE credit_instances SET alive_until = ";

async fn kill_all(db: &Database) {
    let past = match db.provider() {
        pia_storage::DatabaseKind::Postgres => "now() - interval '1 second'",
        pia_storage::DatabaseKind::Sqlite => "1",
    };
    execute(db, &format!("{DIES}{past}")).await;
}

async fn instances(db: &Database) -> i64 {
    let rows = credit_instances::table.count();
    let found: Result<i64, DbError> = on_conn!(db.reader(), |conn| rows.get_result(conn).await?);
    found.unwrap()
}

fn limits() -> CreditLimits {
    CreditLimits { hourly: 1000, group_weekly: 1000, ..CreditLimits::default() }
}

async fn what_a_killed_instance_reserved_is_released_once(db: Database) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (weeks, tasks) = (LiveSetting::new(pia_assistant::Weeks::UTC), TaskTracker::new());
    let dead =
        SqlCreditStore::start(db.clone(), weeks, Arc::new(SystemClock), &tasks, runtime.handle());
    let ada = member(&db, limits()).await;
    for _ in 0..20 {
        std::mem::forget(admitted(&dead, ask(ada, 2)).await);
    }
    // Nothing of it runs any more, and nothing was said. What it waited for
    // was not to be had, so that no statement of its was cut off.
    let held = db.writer().await.unwrap();
    let end = move || runtime.shutdown_timeout(Duration::from_secs(5));
    tokio::task::spawn_blocking(end).await.unwrap();
    drop(held);
    let tasks = TaskTracker::new();
    let others = [start(&db, &tasks), start(&db, &tasks), start(&db, &tasks)];
    let before = counted(&others[0], ada).await;

    kill_all(&db).await;
    let reaped = join_all((0..9).map(|at| others[at % 3].reap())).await;
    let after = counted(&others[0], ada).await;

    let held =
        |reserved| ["hourly", "group-weekly"].map(|it| (it.to_owned(), 0, reserved)).to_vec();
    assert_eq!((before, after), (held(40), held(0)));
    // The instances that live may have been as quick, in their own rounds.
    let reaped: u64 = reaped.into_iter().map(|it| it.unwrap()).sum();
    let all: u64 = others.iter().map(|it| it.counts().reaped).sum();
    assert!(reaped <= 40 && all == 40, "{reaped} {all}");
    sound(&others[0]).await;
}

async fn a_call_that_ends_after_it_was_released_is_charged_all_the_same(db: Database) {
    let credit_store = start(&db, &TaskTracker::new());
    let ada = member(&db, limits()).await;
    let (long, open) =
        (admitted(&credit_store, ask(ada, 5)).await, admitted(&credit_store, ask(ada, 3)).await);
    // It may say meanwhile, by itself, that it lives.
    while counted(&credit_store, ada).await[0].2 > 0 {
        kill_all(&db).await;
        credit_store.reap().await.unwrap();
    }
    let meanwhile = counted(&credit_store, ada).await;

    let mut usage = crate::usage_log::record("gpt");
    usage.user = ada.member;
    long.settle(credits(4), Some(usage));
    drop(open);
    settled(&credit_store).await;

    assert_eq!(meanwhile[0], ("hourly".to_owned(), 0, 0));
    assert_eq!(counted(&credit_store, ada).await[0], ("hourly".to_owned(), 4, 0));
    assert_eq!(credit_store.counts().late, 1);
    sound(&credit_store).await;
}

async fn an_instance_that_lives_keeps_what_it_reserved(db: Database) {
    let credit_store = start(&db, &TaskTracker::new());
    let other = start(&db, &TaskTracker::new());
    let ada = member(&db, limits()).await;
    let _hold = admitted(&credit_store, ask(ada, 5)).await;

    let reaped = other.reap().await.unwrap();

    assert_eq!(reaped, 0);
    assert_eq!(counted(&credit_store, ada).await[0], ("hourly".to_owned(), 0, 5));
}

async fn an_instance_that_ends_leaves_no_row(db: Database) {
    let tasks = TaskTracker::new();
    let credit_store = start(&db, &tasks);
    let ada = member(&db, limits()).await;
    drop(admitted(&credit_store, ask(ada, 5)).await);
    let alive = instances(&db).await;

    credit_store.drain(crate::banks::LIMIT).await;
    tasks.close();
    tasks.wait().await;

    assert_eq!((alive, instances(&db).await), (1, 0));
}

async fn instances_know_how_many_they_are(db: Database) {
    let (staying, leaving) = (TaskTracker::new(), TaskTracker::new());
    let one = start(&db, &staying);
    let alone = one.heartbeat().await.unwrap();
    let other = start(&db, &leaving);
    let second = other.heartbeat().await.unwrap();
    let two = one.heartbeat().await.unwrap();
    let reported = (*one.instances().get(), *other.instances().get());

    other.drain(crate::banks::LIMIT).await;
    leaving.close();
    leaving.wait().await;
    let left = one.heartbeat().await.unwrap();

    assert_eq!((alone, second, two), (1, 2, 2));
    assert_eq!(reported, (2, 2));
    assert_eq!((left, *one.instances().get()), (1, 1));
}

async fn an_instance_that_died_is_not_counted(db: Database) {
    let credit_store = start(&db, &TaskTracker::new());
    credit_store.heartbeat().await.unwrap();
    // Of others there is nothing here but their word.
    let soon = DbInstant(SystemClock.now() + Duration::from_mins(1));
    let word = |id: u128| {
        let id = DbUid(uuid::Uuid::from_u128(id));
        (credit_instances::id.eq(id), credit_instances::alive_until.eq(soon))
    };
    let words = [word(1), word(2)];
    let message: Result<usize, DbError> = on_conn!(db.writer(), |conn| {
        let mut message = 0;
        for word in words {
            message +=
                diesel::insert_into(credit_instances::table).values(word).execute(conn).await?;
        }
        message
    });
    assert_eq!(message.unwrap(), 2);
    let before = credit_store.heartbeat().await.unwrap();

    kill_all(&db).await;
    let after = credit_store.heartbeat().await.unwrap();

    assert_eq!((before, after), (3, 1));
}

/// Moves the time of timers, and of whoever measures by their clock.
async fn later(seconds: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(seconds)).await;
    tokio::time::resume();
}

async fn one_that_cannot_say_that_it_is_alive_admits_nobody_before_another_may_think_it_dead(
    db: Database,
) {
    let other = start(&db, &TaskTracker::new());
    let on_a_clock_of_its_own = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let credit_store = start(&db, &TaskTracker::new());
            let ada = member(&db, limits()).await;
            let hold = admitted(&credit_store, ask(ada, 5)).await;
            credit_store.heartbeat().await.unwrap();
            // All else that a call needs is there.
            execute(&db, "ALTER TABLE credit_instances RENAME TO away").await;

            later(8).await;
            let in_time = admitted(&credit_store, ask(ada, 1)).await;
            later(2).await;
            let too_late = credit_store.admit(ask(ada, 1)).await;
            let open = counted(&credit_store, ada).await;
            execute(&db, "ALTER TABLE away RENAME TO credit_instances").await;
            // By the database's clock it has lived on.
            let reaped = other.reap().await.unwrap();
            let again = credit_store.admit(ask(ada, 1)).await;

            assert!(too_late.is_err(), "{too_late:?}");
            assert_eq!(open[0], ("hourly".to_owned(), 0, 6));
            assert_eq!(reaped, 0);
            assert!(matches!(again, Ok(pia_assistant::Admission::Granted { .. })), "{again:?}");
            drop((hold, in_time, again));
            settled(&credit_store).await;
            sound(&credit_store).await;
        });
    };
    tokio::task::spawn_blocking(on_a_clock_of_its_own).await.unwrap();
}

async fn a_window_that_does_not_agree_is_found(db: Database) {
    let credit_store = start(&db, &TaskTracker::new());
    let ada = member(&db, limits()).await;
    let _hold = admitted(&credit_store, ask(ada, 5)).await;
    execute(&db, "UPDATE credit_windows SET reserved = reserved + 7 WHERE kind = 'hourly'").await;

    let found = credit_store.find_mismatches().await.unwrap();

    let [mismatch] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(mismatch.window, format!("{}:hourly", ada.member));
    assert_eq!((mismatch.reserved.0, mismatch.open.0), (5_000_007, 5_000_000));
}
