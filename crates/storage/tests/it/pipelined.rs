//! Tests of transactions whose statements are sent together.

use diesel::prelude::*;
use diesel::sql_types::Integer;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::join;
use pia_storage::schema::locks;
use pia_storage::{
    Conn, Database, DatabaseKind, DatabaseOptions, DatabaseTarget, DbError, Pipelined, on_conn,
};
use pia_testkit::databases::TestDatabase;

/// Creates a database with a single connection, on which nothing was prepared.
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
    let turn: Result<i64, DbError> = on_conn!(db.reader(), |conn| row.get_result(conn).await?);
    turn.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_sent_together_are_one_transaction_in_order() {
    let (_fresh, db) = alone().await;
    let conn = pipelined(&db).await;
    let shared = conn.shared().unwrap();

    let (began, first, second, committed) =
        join!(conn.begin(), take_turn(shared), take_turn(shared), conn.commit());

    conn.release();
    assert!(began.is_ok() && committed.is_ok(), "{began:?} {committed:?}");
    assert_eq!(first, Ok(1));
    assert_eq!(second, Ok(1));
    assert_eq!(turns(&db).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_after_a_failed_statement_rolls_back() {
    let (_fresh, db) = alone().await;
    // Once with nothing prepared, and once with everything.
    for _ in 0..2 {
        let conn = pipelined(&db).await;
        let shared = conn.shared().unwrap();

        let (began, before, failed, after, ended) =
            join!(conn.begin(), take_turn(shared), fail(shared), take_turn(shared), conn.commit());

        conn.release();
        assert!(began.is_ok() && ended.is_ok(), "{began:?} {ended:?}");
        assert!(before.is_ok() && failed.is_err() && after.is_err(), "{before:?} {after:?}");
        assert_eq!(turns(&db).await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_transaction_closes_its_connection() {
    let (_fresh, db) = alone().await;
    let conn = pipelined(&db).await;
    let (began, turn) = join!(conn.begin(), take_turn(conn.shared().unwrap()));

    drop(conn);

    assert!(began.is_ok() && turn.is_ok(), "{began:?} {turn:?}");
    // On the next connection, and outside the transaction.
    assert_eq!(turns(&db).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolled_back_connection_is_reusable() {
    let (_fresh, db) = alone().await;
    let mut conn = pipelined(&db).await;
    let (began, turn) = join!(conn.begin(), take_turn(conn.shared().unwrap()));
    let second = take_turn(conn.alone().unwrap()).await;

    conn.roll_back().await.unwrap();

    conn.release();
    assert!(began.is_ok() && turn.is_ok() && second.is_ok(), "{began:?} {turn:?} {second:?}");
    assert_eq!(turns(&db).await, 0);
}
