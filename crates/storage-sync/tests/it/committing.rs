//! Contract tests of slow transactions.

use std::pin::pin;
use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_storage::schema::sync_items;
use pia_storage::{Database, DbError, DbInstant, DbUid, TakeLedger, in_tx};
use pia_sync::SyncReader;
use tokio::join;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::person::{Person, START, at, todo};

pia_testkit::contract! {
    a_slow_commit_delays_later_ones,
}

/// A transaction takes its stamp, and commits late.
async fn a_slow_commit_delays_later_ones(db: Database) {
    let person = Person::of(db.clone()).await;
    person.push(5, vec![todo(1, 5)]).await;
    let stamp_taken = Notify::new();
    let commit_allowed = Notify::new();

    let slow_commit = async {
        let outcome: Result<(), DbError> = async {
            in_tx!(db, async |conn| -> Result<(), DbError> {
                let ledger = conn.lock_ledger(person.user).await?.unwrap();
                let stamp = ledger.stamps(at(10)).next().unwrap();
                stamp_taken.notify_one();
                commit_allowed.notified().await;
                diesel::update(sync_items::table)
                    .filter(sync_items::user_id.eq(DbUid(person.user.0)))
                    .set(sync_items::stamp.eq(DbInstant(stamp)))
                    .execute(conn)
                    .await?;
                conn.count_change(person.user, stamp, 0).await
            })
        }
        .await;
        outcome.unwrap();
    };

    let later_push = async {
        stamp_taken.notified().await;
        let mut push = pin!(person.push(20, vec![todo(2, 5)]));
        // It waits, and a device that pulls meanwhile gets neither.
        assert!(timeout(Duration::from_millis(200), &mut push).await.is_err());
        let page = person.page(START, 10, u64::MAX).await;
        let head = person.reader.head(person.user).await.unwrap().unwrap();
        assert_eq!(page.rows.len(), 1);
        assert_eq!(page.up_to, Some(head.last_stamp));
        commit_allowed.notify_one();
        (push.await.last_stamp, head.last_stamp)
    };

    let ((), (stamp, since)) = join!(slow_commit, later_push);

    let rows = person.page(since, 10, u64::MAX).await.rows;
    let stamps: Vec<_> = rows.iter().map(|it| (it.key.id.as_u128(), it.stamp)).collect();
    assert_eq!(stamps, [(1, at(10)), (2, stamp)]);
}
