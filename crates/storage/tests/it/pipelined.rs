//! Transactions whose statements go out together.

use diesel::prelude::*;
use diesel::sql_types::Integer;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::join;
use pia_storage::schema::locks;
use pia_storage::{
    Conn, Database, DatabaseKind, DatabaseOptions, DatabaseTarget, DbError, Pipelined, on_conn,
};
use pia_testkit::databases::TestDatabase;

/// A database that is reached by one connection, on which nothing was prepared.
async fn alone() -> (TestDatabase, Database) {
    let fresh = TestDatabase::postgres().await;
    let target = DatabaseTarget::parse(DatabaseKind::Postgres, &fresh.url).unwrap();
    let db = Database::open(
        &target,
        DatabaseOptions { max_connections: 1, ..DatabaseOptions::default() },
    );
    (fresh, db.unwrap())
}

async fn pipelined(db: &Database) -> Pipelined {
    match db.writer().await.unwrap() {
        Conn::Postgres(conn) => Pipelined::new(conn),
        Conn::Sqlite(_) => panic!("it is PostgreSQL"),
    }
}

async fn take_turn(mut conn: &AsyncPgConnection) -> QueryResult<usize> {
    let turn = diesel::update(locks::table.find("accounts"));
    turn.set(locks::turn.eq(locks::turn + 1)).execute(&mut conn).await
}

async fn fail(mut conn: &AsyncPgConnection) -> QueryResult<i32> {
    diesel::select(diesel::dsl::sql::<Integer>("1 / 0")).get_result(&mut conn).await
}

async fn turns(db: &Database) -> i64 {
    let row = locks::table.find("accounts").select(locks::turn);
    let found: Result<i64, DbError> = on_conn!(db.reader(), |conn| row.get_result(conn).await?);
    found.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_out_together_is_one_transaction_in_its_order() {
    let (_fresh, db) = alone().await;
    let conn = pipelined(&db).await;
    let shared = conn.shared().unwrap();

    let (begun, first, second, committed) =
        join!(conn.begin(), take_turn(shared), take_turn(shared), conn.commit());

    conn.release();
    assert!(begun.is_ok() && committed.is_ok(), "{begun:?} {committed:?}");
    assert_eq!((first, second), (Ok(1), Ok(1)));
    assert_eq!(turns(&db).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_behind_a_statement_that_failed_takes_everything_back() {
    let (_fresh, db) = alone().await;
    // Once with nothing prepared, and once with everything.
    for _ in 0..2 {
        let conn = pipelined(&db).await;
        let shared = conn.shared().unwrap();

        let (begun, before, failed, after, ended) =
            join!(conn.begin(), take_turn(shared), fail(shared), take_turn(shared), conn.commit());

        conn.release();
        assert!(begun.is_ok() && ended.is_ok(), "{begun:?} {ended:?}");
        assert!(before.is_ok() && failed.is_err() && after.is_err(), "{before:?} {after:?}");
        assert_eq!(turns(&db).await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_is_dropped_takes_its_connection_along() {
    let (_fresh, db) = alone().await;
    let conn = pipelined(&db).await;
    let (begun, turn) = join!(conn.begin(), take_turn(conn.shared().unwrap()));

    drop(conn);

    assert!(begun.is_ok() && turn.is_ok(), "{begun:?} {turn:?}");
    // On the next connection, and not within the transaction.
    assert_eq!(turns(&db).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_rolled_back_leaves_the_connection_to_others() {
    let (_fresh, db) = alone().await;
    let mut conn = pipelined(&db).await;
    let (begun, turn) = join!(conn.begin(), take_turn(conn.shared().unwrap()));
    let seen = take_turn(conn.alone().unwrap()).await;

    conn.roll_back().await.unwrap();

    conn.release();
    assert!(begun.is_ok() && turn.is_ok() && seen.is_ok(), "{begun:?} {turn:?} {seen:?}");
    assert_eq!(turns(&db).await, 0);
}
