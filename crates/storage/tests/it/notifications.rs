//! Tests of notifications between processes.

use std::sync::Arc;
use std::time::Duration;

use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use pia_storage::{Database, DbError, NotifyProcesses, in_tx};
use pia_testkit::databases::TestDatabase;
use tokio::sync::Notify;
use tokio::time::timeout;

const CHANNEL: &str = "test_channel";
/// Time longer than the delay between attempts to listen.
const QUIET: Duration = Duration::from_millis(1_500);
const SOON: Duration = Duration::from_secs(10);

async fn notify(db: &Database) {
    let notified = async {
        in_tx!(db, async |conn| -> Result<(), DbError> { conn.notify_processes(CHANNEL).await })
    };
    notified.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_is_woken_by_another_even_after_its_connection_was_lost() {
    let fresh = TestDatabase::postgres().await;
    let here = fresh.connect().await;
    let there = fresh.connect().await;
    let wake = Arc::new(Notify::new());
    let woken = Arc::clone(&wake);
    #[expect(clippy::disallowed_methods, reason = "aborted at the end")]
    let listening = tokio::spawn(async move { here.listen(CHANNEL, &woken).await });
    let is_woken = || timeout(SOON, wake.notified());
    let is_quiet = || timeout(QUIET, wake.notified());

    is_woken().await.expect("a notification that it listens");
    is_quiet().await.expect_err("it listens again and again");
    notify(&there).await;
    is_woken().await.expect("a notification");
    let lose = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND query LIKE 'LISTEN%'";
    let mut admin = AsyncPgConnection::establish(&fresh.url).await.unwrap();
    admin.batch_execute(lose).await.unwrap();
    is_woken().await.expect("a notification that it listens again");
    is_quiet().await.expect_err("it listens again and again");
    notify(&there).await;
    is_woken().await.expect("a notification over the new connection");

    listening.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn notifications_have_no_effect_on_sqlite() {
    let fresh = TestDatabase::sqlite();

    notify(&fresh.connect().await).await;
}
