//! Tests of the checkpoints of SQLite's log beside writers.

use std::fs;
use std::path::Path;

use diesel_async::SimpleAsyncConnection;
use futures_util::future::join_all;
use pia_storage::{
    Conn, Database, DatabaseKind, DatabaseOptions, DatabaseTarget, DbError, Startup, Synchronous,
    on_conn, start,
};
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

/// Creates a database in a folder, without syncing each commit.
async fn fresh() -> (TempDir, Database) {
    let dir = tempfile::tempdir().unwrap();
    let text = format!("Data Source={}", dir.path().join("pia.db").display());
    let target = DatabaseTarget::parse(DatabaseKind::Sqlite, &text).unwrap();
    let options =
        DatabaseOptions { synchronous: Synchronous::Normal, ..DatabaseOptions::default() };
    let db = start(Startup { target, migration_target: None, maintenance_target: None, options })
        .await
        .unwrap();
    execute(&db, "CREATE TABLE notes (text TEXT NOT NULL)").await;
    (dir, db)
}

async fn execute(db: &Database, sql: &str) {
    let outcome: Result<(), DbError> =
        on_conn!(db.writer(), |conn| conn.batch_execute(sql).await?);
    outcome.unwrap();
}

/// Writes often enough for a checkpoint to be worthwhile.
async fn note(db: &Database, text: &str) {
    for _ in 0..64 {
        execute(db, &format!("INSERT INTO notes VALUES ('{text}')")).await;
    }
}

fn holds(file: &Path, text: &str) -> bool {
    fs::read(file).unwrap().windows(text.len()).any(|it| it == text.as_bytes())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_runs_beside_a_writer() {
    let (dir, db) = fresh().await;
    let file = dir.path().join("pia.db");
    note(&db, "Dear Ada").await;
    let before = holds(&file, "Dear Ada");
    let Conn::Sqlite(mut writer) = db.writer().await.unwrap() else { panic!("not a file") };
    writer.batch_execute("BEGIN IMMEDIATE; DELETE FROM notes").await.unwrap();

    db.checkpoint().await.unwrap();

    assert!(!before && holds(&file, "Dear Ada"));
    writer.batch_execute("COMMIT").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_log_is_not_checkpointed() {
    let (dir, db) = fresh().await;
    execute(&db, "INSERT INTO notes VALUES ('Dear Ada')").await;

    db.checkpoint().await.unwrap();

    assert!(!holds(&dir.path().join("pia.db"), "Dear Ada"));
    assert!(holds(&dir.path().join("pia.db-wal"), "Dear Ada"));
}

#[tokio::test(flavor = "multi_thread")]
async fn regular_checkpoints_bound_the_log() {
    let (dir, db) = fresh().await;
    let log = dir.path().join("pia.db-wal");

    let mut longest = 0;
    for _ in 0..20 {
        note(&db, &"Dear Ada, ".repeat(4_000)).await;
        db.checkpoint().await.unwrap();
        longest = longest.max(fs::metadata(&log).unwrap().len());
    }

    let written_bytes = fs::metadata(dir.path().join("pia.db")).unwrap().len();
    assert!(written_bytes > 48 * MIB, "{written_bytes}");
    assert!(longest < 24 * MIB, "{longest}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_is_truncated_despite_concurrent_checkpoints() {
    let (dir, db) = fresh().await;
    let log = dir.path().join("pia.db-wal");

    for _ in 0..20 {
        note(&db, "Dear Ada").await;
        let (emptied, cut) = tokio::join!(
            join_all((0..4).map(|_| db.checkpoint())),
            join_all((0..4).map(|_| db.truncate_log())),
        );

        assert!(emptied.iter().all(Result::is_ok));
        assert!(cut.into_iter().all(|it| it.unwrap()));
        assert_eq!(fs::metadata(&log).unwrap().len(), 0);
    }
}
