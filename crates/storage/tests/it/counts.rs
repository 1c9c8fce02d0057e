//! Counts that do not wait for the disk.

use diesel::prelude::*;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use pia_storage::schema::locks;
use pia_storage::{Database, DbError, Options, on_conn};
use pia_testkit::databases::Fresh;

pia_testkit::contract! {
    what_is_counted_is_there_and_told,
}

async fn what_is_counted_is_there_and_told(db: Database) {
    let add = || diesel::update(locks::table).set(locks::turn.eq(locks::turn + 1));
    let nobody = diesel::update(locks::table.find("nobody")).set(locks::turn.eq(0));

    let counted = [db.count(add()).await, db.count(add()).await, db.count(nobody).await];

    assert_eq!(counted.map(Result::unwrap), [1, 1, 0]);
    assert_eq!(turn(&db).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_promises_less_for_a_count_alone() {
    const FULL: i64 = 2;
    const NORMAL: i64 = 1;
    let note = "UPDATE locks SET turn = (SELECT synchronous FROM pragma_synchronous)";
    let fresh = Fresh::sqlite();
    fresh.connect().await;
    let db = Database::open(&fresh.target(), Options::default()).unwrap();
    let mut promised = Vec::new();

    for counts in [false, true, true, false, false] {
        if counts {
            db.count(diesel::sql_query(note)).await.unwrap();
        } else {
            write(&db, note).await.unwrap();
        }
        promised.push(turn(&db).await);
    }

    assert_eq!(promised, [FULL, NORMAL, NORMAL, FULL, FULL]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_promises_less_for_a_count_alone() {
    let fresh = Fresh::postgres().await;
    let db = fresh.connect().await;
    let note = "UPDATE locks SET turn = CASE current_setting('synchronous_commit')
                WHEN 'off' THEN 0 ELSE 1 END";

    for _ in 0..3 {
        db.count(diesel::sql_query(note)).await.unwrap();
    }
    write(&db, note).await.unwrap();

    assert_eq!(turn(&db).await, 1);
}

async fn write(db: &Database, sql: &str) -> Result<(), DbError> {
    on_conn!(db.writer(), |conn| Ok(conn.batch_execute(sql).await?))
}

async fn turn(db: &Database) -> i64 {
    let asked: Result<i64, DbError> = async {
        on_conn!(db.reader(), |conn| Ok(locks::table.select(locks::turn).first(conn).await?))
    }
    .await;
    asked.unwrap()
}
