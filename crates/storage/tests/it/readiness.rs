//! Contract tests of readiness.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use pia_storage::{Database, DatabaseOptions, ReadinessError, migrate};
use pia_testkit::databases::TestDatabase;

pia_testkit::contract! {
    a_database_with_its_tables_is_ready,
    a_cancelled_ping_does_not_harm_its_worker,
}

const LIMIT: Duration = Duration::from_secs(5);

async fn a_database_with_its_tables_is_ready(db: Database) {
    for _ in 0..2 {
        let ping = db.ping(LIMIT).await;
        let ready = db.ready(LIMIT).await;

        assert!(ping.is_ok() && ready.is_ok(), "{ping:?} {ready:?}");
    }
}

/// A worker has a runtime of one thread, on which dropping a query would panic.
async fn a_cancelled_ping_does_not_harm_its_worker(db: Database) {
    let worker = move || {
        let worker = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        worker.block_on(async {
            let mut cancelled = Box::pin(db.ping(LIMIT));
            let polled = poll_fn(|cx| Poll::Ready(cancelled.as_mut().poll(cx))).await;
            drop(polled);
            drop(cancelled);
            db.ping(LIMIT).await
        })
    };

    let later = tokio::task::spawn_blocking(worker).await.unwrap();

    assert!(later.is_ok(), "{later:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_is_not_ready_before_its_migrations_are_applied() {
    for fresh in [TestDatabase::empty_sqlite(), TestDatabase::empty_postgres().await] {
        let db = Database::open(&fresh.target(), DatabaseOptions::default()).unwrap();

        let before = db.ready(LIMIT).await;
        migrate(&fresh.target()).await.unwrap();
        let after = db.ready(LIMIT).await;

        assert!(matches!(before, Err(ReadinessError::Pending(_))), "{before:?}");
        assert!(after.is_ok(), "{after:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_without_a_free_connection_is_silent() {
    let fresh = TestDatabase::postgres().await;
    let options = DatabaseOptions { max_connections: 1, ..DatabaseOptions::default() };
    let db = Database::open(&fresh.target(), options).unwrap();
    let only_connection = db.reader().await.unwrap();

    let ping = db.ping(Duration::from_millis(50)).await;

    assert!(matches!(ping, Err(ReadinessError::Silent(_))), "{ping:?}");
    drop(only_connection);
}
