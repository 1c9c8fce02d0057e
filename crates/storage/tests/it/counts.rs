//! Tests of counters that do not wait for the disk.

use diesel::prelude::*;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use futures_util::future::{join, join_all};
use pia_storage::schema::locks;
use pia_storage::{Database, DatabaseOptions, DbError, Startup, on_conn, start};
use pia_testkit::databases::TestDatabase;

pia_testkit::contract! {
    a_count_is_stored_and_its_rows_are_returned,
    concurrent_counts_each_get_their_own_result,
}

async fn a_count_is_stored_and_its_rows_are_returned(db: Database) {
    let add = || diesel::update(locks::table.find("accounts")).set(locks::turn.eq(locks::turn + 1));
    let missing = diesel::update(locks::table.find("nobody")).set(locks::turn.eq(0));

    let counted = [db.count(add()).await, db.count(add()).await, db.count(missing).await];

    assert_eq!(counted.map(Result::unwrap), [1, 1, 0]);
    assert_eq!(turn(&db).await, 2);
}

async fn concurrent_counts_each_get_their_own_result(db: Database) {
    let below = |max: i64| {
        let free = locks::table.find("accounts").filter(locks::turn.lt(max));
        db.count(diesel::update(free).set(locks::turn.eq(locks::turn + 1)))
    };
    let wrong = || db.count(diesel::sql_query("DELETE FROM nothing"));

    let (counted, failed) =
        join(join_all((0..200).map(|_| below(50))), join_all((0..20).map(|_| wrong()))).await;

    assert_eq!(counted.into_iter().map(Result::unwrap).sum::<usize>(), 50);
    assert!(failed.iter().all(Result::is_err));
    assert_eq!(turn(&db).await, 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_count_is_reported_and_the_next_one_succeeds() {
    let fresh = TestDatabase::sqlite();
    let db = fresh.connect().await;
    let add = || {
        db.count(diesel::update(locks::table.find("accounts")).set(locks::turn.eq(locks::turn + 1)))
    };
    write(&db, "ALTER TABLE locks RENAME TO away").await.unwrap();

    let failed = join_all([add(), add(), add()]).await;
    write(&db, "ALTER TABLE away RENAME TO locks").await.unwrap();
    let counted = join_all([add(), add()]).await;

    assert!(failed.iter().all(Result::is_err));
    assert_eq!(counted.into_iter().map(Result::unwrap).sum::<usize>(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_relaxes_durability_for_counts_only() {
    const FULL: i64 = 2;
    const NORMAL: i64 = 1;
    let note = "UPDATE locks SET turn = (SELECT synchronous FROM pragma_synchronous)";
    let fresh = TestDatabase::sqlite();
    fresh.connect().await;
    let db = Database::open(&fresh.target(), DatabaseOptions::default()).unwrap();
    let mut levels = Vec::new();

    for counts in [false, true, true, false, false] {
        if counts {
            db.count(diesel::sql_query(note)).await.unwrap();
        } else {
            write(&db, note).await.unwrap();
        }
        levels.push(turn(&db).await);
    }

    assert_eq!(levels, [FULL, NORMAL, NORMAL, FULL, FULL]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_relaxes_durability_for_counts_only() {
    let fresh = TestDatabase::postgres().await;
    let db = fresh.connect().await;
    let note = "UPDATE locks SET turn = CASE current_setting('synchronous_commit')
                WHEN 'off' THEN 0 ELSE 1 END";

    for _ in 0..3 {
        db.count(diesel::sql_query(note)).await.unwrap();
    }
    write(&db, note).await.unwrap();

    assert_eq!(turn(&db).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_count_is_prepared_once_on_a_connection_of_a_server() {
    let fresh = TestDatabase::postgres().await;
    let options = DatabaseOptions { max_connections: 1, ..DatabaseOptions::default() };
    let startup = Startup {
        target: fresh.target(),
        migration_target: None,
        maintenance_target: None,
        options,
    };
    let db = start(startup).await.unwrap();

    for _ in 0..3 {
        let add =
            diesel::update(locks::table.find("accounts")).set(locks::turn.eq(locks::turn + 1));
        db.count(add).await.unwrap();
    }
    let note = "UPDATE locks SET turn = (
        SELECT sum(10 * (generic_plans + custom_plans) + 1) FROM pg_prepared_statements
        WHERE statement LIKE 'WITH counted%')";
    write(&db, note).await.unwrap();

    assert_eq!(turn(&db).await, 31, "of one statement three plans");
}

async fn write(db: &Database, sql: &str) -> Result<(), DbError> {
    on_conn!(db.writer(), |conn| conn.batch_execute(sql).await?)
}

async fn turn(db: &Database) -> i64 {
    let turn: Result<i64, DbError> = on_conn!(db.reader(), |conn| locks::table
        .find("accounts")
        .select(locks::turn)
        .first(conn)
        .await?);
    turn.unwrap()
}
