//! Contract tests of the chain over the audit log.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_identity::Role;
use pia_kernel::{AuditEntry, AuditFilter, AuditLog, ChainFault, Eraser, Timestamp, UserId};
use pia_storage::schema::audit_entries;
use pia_storage::{Database, DatabaseKind, DbError, on_conn};
use pia_storage_lifecycle::{AuditCheckpoint, SqlAuditChain, SqlAuditLog, SqlEraser};
use uuid::Uuid;

use crate::audit_log::{entry, write};
use crate::people::{AT, create_person, erasure_of, execute};

pia_testkit::contract! {
    each_entry_is_chained_once_by_concurrent_calls,
    only_the_position_of_an_entry_can_be_set_once,
    changed_moved_and_deleted_entries_are_reported,
    a_cut_chain_differs_from_an_exported_checkpoint,
    the_chain_stays_valid_after_an_erasure,
    early_deletions_are_reported,
}

const SINCE: Timestamp = AT;

fn minutes(minutes: u64) -> Timestamp {
    AT + Duration::from_mins(minutes)
}

/// Writes entries and chains them.
async fn append_entries(db: &Database, number: u64, at: Timestamp) -> SqlAuditChain {
    let of = |_| AuditEntry { at, ..entry(Some(UserId::generate()), None, 0) };
    let entries: Vec<_> = (0..number).map(of).collect();
    write(db, &entries).await;
    let chain = SqlAuditChain::new(db.clone());
    while chain.extend().await.unwrap() > 0 {}
    chain
}

async fn faults(chain: &SqlAuditChain, exported: Option<&AuditCheckpoint>) -> Vec<ChainFault> {
    chain.verify(exported, SINCE).await.unwrap().faults
}

/// Executes SQL with the privileges of an administrator of the database.
async fn tamper(db: &Database, sql: &str) {
    let disable = match db.provider() {
        DatabaseKind::Sqlite => "DROP TRIGGER IF EXISTS audit_entries_are_never_changed",
        DatabaseKind::Postgres => "ALTER TABLE audit_entries DISABLE TRIGGER USER",
    };
    execute(db, disable).await;
    execute(db, sql).await;
}

/// Returns the id of the entry at a position.
async fn id_at(db: &Database, position: i64) -> Uuid {
    let query =
        audit_entries::table.filter(audit_entries::position.eq(position)).select(audit_entries::id);
    let result: Result<pia_storage::DbUid, DbError> =
        on_conn!(db.reader(), |conn| query.first(conn).await?);
    result.unwrap().0
}

async fn each_entry_is_chained_once_by_concurrent_calls(db: Database) {
    let chain = SqlAuditChain::new(db.clone());
    assert_eq!(chain.checkpoint().await.unwrap(), None);
    let writing = async {
        for _ in 0..10 {
            let entries: Vec<_> =
                (0..4).map(|it| entry(Some(UserId::generate()), None, it)).collect();
            write(&db, &entries).await;
        }
    };
    let chaining = join_all((0..8).map(|_| async {
        let mut count = 0;
        for _ in 0..10 {
            count += chain.extend().await.unwrap();
        }
        count
    }));

    let ((), chained_counts) = futures_util::join!(writing, chaining);

    let last_count = chain.extend().await.unwrap();
    assert_eq!(chained_counts.iter().sum::<usize>() + last_count, 40);
    assert_eq!(chain.extend().await.unwrap(), 0);

    let report = chain.verify(None, SINCE).await.unwrap();
    assert_eq!(report.entries, 40);
    assert_eq!(report.last, 40);
    assert_eq!(report.waiting, 0);
    assert!(report.faults.is_empty());
    assert_eq!(report.deleted_until, None);
    assert_eq!(chain.checkpoint().await.unwrap().unwrap().position, 40);
}

async fn only_the_position_of_an_entry_can_be_set_once(db: Database) {
    write(&db, &[entry(None, Some(UserId::generate()), 0)]).await;
    let refuses = async |sql: &str| {
        let result: Result<(), DbError> = on_conn!(db.writer(), |conn| {
            diesel_async::SimpleAsyncConnection::batch_execute(conn, sql).await?;
        });
        assert!(result.is_err(), "{sql}");
    };

    refuses("UPDATE audit_entries SET action = 'other'").await;
    refuses("UPDATE audit_entries SET position = 1, changes = '{}'").await;
    SqlAuditChain::new(db.clone()).extend().await.unwrap();
    refuses("UPDATE audit_entries SET position = 2").await;
    refuses("UPDATE audit_entries SET position = NULL").await;
}

async fn changed_moved_and_deleted_entries_are_reported(db: Database) {
    let chain = append_entries(&db, 1200, minutes(1)).await;
    let id_at_700 = id_at(&db, 700).await;
    let id_at_2 = id_at(&db, 2).await;
    let id_at_3 = id_at(&db, 3).await;

    tamper(&db, "UPDATE audit_entries SET action = 'other' WHERE position = 700").await;
    tamper(&db, "DELETE FROM audit_entries WHERE position BETWEEN 1001 AND 1003").await;
    tamper(&db, "UPDATE audit_entries SET position = -1 WHERE position = 2").await;
    tamper(&db, "UPDATE audit_entries SET position = 2 WHERE position = 3").await;
    tamper(&db, "UPDATE audit_entries SET position = 3 WHERE position = -1").await;

    let report = chain.verify(None, SINCE).await.unwrap();
    assert_eq!(report.entries, 1197);
    assert_eq!(report.faults.len(), 5);
    assert_eq!(report.faults[0], ChainFault::Changed { position: 2, id: id_at_3 });
    assert_eq!(report.faults[1], ChainFault::Changed { position: 3, id: id_at_2 });
    assert!(matches!(report.faults[2], ChainFault::Changed { position: 4, .. }));
    assert_eq!(report.faults[3], ChainFault::Changed { position: 700, id: id_at_700 });
    assert_eq!(report.faults[4], ChainFault::Missing { first: 1001, last: 1003 });
}

async fn a_cut_chain_differs_from_an_exported_checkpoint(db: Database) {
    let chain = append_entries(&db, 3, minutes(1)).await;
    let checkpoint_at_3 = chain.checkpoint().await.unwrap().unwrap();
    let chain = append_entries(&db, 3, minutes(2)).await;
    let checkpoint_at_6 = chain.checkpoint().await.unwrap().unwrap();
    let exported = AuditCheckpoint::parse(&checkpoint_at_6.to_json()).unwrap();
    assert_eq!(exported.position, 6);
    assert_eq!(faults(&chain, Some(&checkpoint_at_3)).await, []);
    assert_eq!(faults(&chain, Some(&exported)).await, []);

    tamper(&db, "DELETE FROM audit_entries WHERE position > 3").await;
    tamper(&db, "DELETE FROM audit_checkpoints WHERE position > 3").await;

    assert_eq!(faults(&chain, None).await, []);
    assert_eq!(faults(&chain, Some(&checkpoint_at_3)).await, []);
    let missing = ChainFault::Missing { first: 4, last: 6 };
    assert_eq!(faults(&chain, Some(&exported)).await, [missing]);

    let chain = append_entries(&db, 3, minutes(2)).await;
    let rewritten = ChainFault::Rewritten { position: 6 };
    assert_eq!(faults(&chain, Some(&exported)).await, [rewritten]);

    for forged in [
        AuditCheckpoint { position: 4, ..exported.clone() },
        AuditCheckpoint { link: "no number".to_owned(), ..exported },
    ] {
        let reported = faults(&chain, Some(&forged)).await;
        assert_eq!(reported[0], ChainFault::Forged { position: forged.position });
    }
}

async fn the_chain_stays_valid_after_an_erasure(db: Database) {
    let ada = create_person(&db, Role::User).await;
    write(&db, &[entry(Some(ada.user), None, 0), entry(None, Some(ada.user), 1)]).await;
    let chain = append_entries(&db, 1, minutes(1)).await;

    SqlEraser::new(db.clone()).erase(erasure_of(ada)).await.unwrap();

    chain.extend().await.unwrap();
    let report = chain.verify(None, SINCE).await.unwrap();
    assert_eq!(report.entries, 4);
    assert!(report.faults.is_empty());
}

async fn early_deletions_are_reported(db: Database) {
    append_entries(&db, 2, minutes(1)).await;
    let chain = append_entries(&db, 2, minutes(3)).await;
    SqlAuditLog::new(db.clone()).sweep(minutes(2)).await.unwrap();

    assert_eq!(chain.verify(None, minutes(2)).await.unwrap().faults, []);
    let early = ChainFault::DeletedEarly { position: 2, at: minutes(1) };
    assert_eq!(chain.verify(None, SINCE).await.unwrap().faults, [early]);

    let log = SqlAuditLog::new(db);
    assert_eq!(log.verify(minutes(2)).await.unwrap().faults, []);
    assert_eq!(log.verify(SINCE).await.unwrap(), chain.verify(None, SINCE).await.unwrap());
    let remaining_entries = log.page(&AuditFilter::default(), crate::audit_log::ALL).await.unwrap();
    assert_eq!(remaining_entries.len(), 2);
}
