//! Tests of transactions that are rolled back and retried.

use std::sync::atomic::{AtomicU32, Ordering};

use diesel::prelude::*;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use futures_util::future::join;
use pia_storage::schema::locks;
use pia_storage::{
    Database, DatabaseKind, DatabaseOptions, DatabaseTarget, DbError, in_tx, on_conn,
};
use pia_testkit::databases::TestDatabase;
use tokio::sync::Barrier;

/// Increments a counter; a function could not take connections of both kinds.
macro_rules! take_turn {
    ($conn:ident, $name:expr) => {
        diesel::update(locks::table.find($name))
            .set(locks::turn.eq(locks::turn + 1))
            .execute($conn)
            .await?
    };
}

pia_testkit::contract! {
    a_transaction_that_fails_leaves_nothing,
}

async fn a_transaction_that_fails_leaves_nothing(db: Database) {
    let failed: Result<(), DbError> = async {
        in_tx!(db, async |conn| -> Result<(), DbError> {
            take_turn!(conn, "accounts");
            Err(DbError::Unreadable("test"))
        })
    }
    .await;

    assert!(matches!(failed, Err(DbError::Unreadable("test"))), "{failed:?}");
    assert_eq!(turns(&db, "accounts").await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_deadlocked_transactions_both_succeed() {
    let fresh = TestDatabase::postgres().await;
    let text = format!("{}?options=-c%20deadlock_timeout%3D10ms", fresh.url);
    let target = DatabaseTarget::parse(DatabaseKind::Postgres, &text).unwrap();
    let db = Database::open(&target, DatabaseOptions::default()).unwrap();
    execute(&db, "INSERT INTO locks (name, turn) VALUES ('a', 0), ('b', 0)").await.unwrap();
    let both = Barrier::new(2);
    let runs = AtomicU32::new(0);

    let (first, second) =
        join(crossing(&db, ["a", "b"], &both, &runs), crossing(&db, ["b", "a"], &both, &runs))
            .await;

    assert!(first.is_ok(), "{first:?}");
    assert!(second.is_ok(), "{second:?}");
    assert!(runs.into_inner() >= 3);
    assert_eq!(turns(&db, "a").await.unwrap(), 2);
    assert_eq!(turns(&db, "b").await.unwrap(), 2);
}

/// Returns the values of two settings in a session of the pool.
async fn settings(url: &str, names: [&str; 2]) -> String {
    let target = DatabaseTarget::parse(DatabaseKind::Postgres, url).unwrap();
    let db = Database::open(&target, DatabaseOptions::default()).unwrap();
    let values = names.map(|it| format!("current_setting('{it}')")).join(" || ' ' || ");
    let query = diesel::dsl::sql::<diesel::sql_types::Text>(&format!("SELECT {values}"));
    let load = async { on_conn!(db.reader(), |conn| query.get_result::<String>(conn).await?) };
    load.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_time_out_and_the_operators_limit_stays() {
    let fresh = TestDatabase::postgres().await;
    let names = ["statement_timeout", "lock_timeout"];
    let url_with_limit = format!("{}?options=-c%20statement_timeout%3D2s", fresh.url);

    assert_eq!(settings(&fresh.url, names).await, "5s 5s");
    assert_eq!(settings(&url_with_limit, names).await, "2s 5s");
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_run_without_parallel_workers() {
    let fresh = TestDatabase::postgres().await;
    let names = ["max_parallel_workers_per_gather", "idle_in_transaction_session_timeout"];

    assert_eq!(settings(&fresh.url, names).await, "0 1min");
}

/// Locks one row, waits until the other has locked one, and locks the second.
async fn crossing(
    db: &Database,
    [first, second]: [&str; 2],
    both: &Barrier,
    runs: &AtomicU32,
) -> Result<(), DbError> {
    in_tx!(db, async |conn| -> Result<(), DbError> {
        take_turn!(conn, first);
        if runs.fetch_add(1, Ordering::SeqCst) < 2 {
            both.wait().await;
        }
        take_turn!(conn, second);
        Ok(())
    })
}

async fn turns(db: &Database, name: &str) -> Result<i64, DbError> {
    let turn = locks::table.find(name).select(locks::turn);
    on_conn!(db.reader(), |conn| turn.first(conn).await?)
}

async fn execute(db: &Database, sql: &str) -> Result<(), DbError> {
    on_conn!(db.writer(), |conn| conn.batch_execute(sql).await?)
}
