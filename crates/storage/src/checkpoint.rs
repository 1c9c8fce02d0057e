//! Checkpoints and truncation of SQLite's write-ahead log.
//!
//! `server/src/checkpoints.rs` calls `checkpoint` a few times a second, so that commits do
//! not have to empty the log. `truncate_log` is called after an account was erased.

use std::sync::atomic::{AtomicUsize, Ordering};

use diesel::prelude::*;
use diesel::sql_types::Integer;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};

use crate::db::Database;
use crate::error::DbError;
use crate::pools::{AsyncSqlite, Pools};
use crate::sqlite::SQLITE_BUSY;

/// Short wait for the lock, since writers are blocked meanwhile.
const BRIEF_TIMEOUT: &str = "PRAGMA busy_timeout = 250;";

/// Number of writes after which a checkpoint is worthwhile.
const MIN_CHECKPOINT_WRITES: usize = 64;

/// Number of pages from which the log is to be restarted: 16 MiB.
const RESTART_PAGES: i32 = 4096;

#[derive(QueryableByName)]
struct Checkpoint {
    #[diesel(sql_type = Integer)]
    busy: i32,
    /// Number of pages in the log.
    #[diesel(sql_type = Integer)]
    log: i32,
}

impl Database {
    /// Moves SQLite's log into the file beside readers and writers, if enough
    /// was written since; call it a few times a second. Otherwise the writer that
    /// fills the log would do it within its commit, and all others would wait
    /// for the disk. PostgreSQL runs its own checkpoints.
    pub async fn checkpoint(&self) -> Result<(), DbError> {
        let Pools::Sqlite { writer, log, .. } = &self.pools else { return Ok(()) };
        if AtomicUsize::load(&log.written, Ordering::Relaxed) < MIN_CHECKPOINT_WRITES {
            return Ok(());
        }

        let mut conn = log.checkpointer.get().await?;
        log.written.store(0, Ordering::Relaxed);

        if passive(&mut conn).await?.log >= RESTART_PAGES {
            // The log restarts once it is empty: that takes a moment without
            // writers, in which there is little to do by now.
            passive(&mut *writer.get().await?).await?;
        }

        Ok(())
    }

    /// Moves SQLite's log into the file and truncates it, so that deleted data is
    /// in neither. Returns false if a reader prevented it. PostgreSQL runs its
    /// own checkpoints.
    pub async fn truncate_log(&self) -> Result<bool, DbError> {
        let Pools::Sqlite { writer, log, .. } = &self.pools else { return Ok(true) };
        let _checkpointer = log.checkpointer.get().await?;
        truncate(&mut *writer.get().await?).await
    }
}

async fn passive(conn: &mut AsyncSqlite) -> Result<Checkpoint, DbError> {
    let pragma = diesel::sql_query("PRAGMA wal_checkpoint(PASSIVE)");
    Ok(pragma.get_result::<Checkpoint>(conn).await?)
}

async fn truncate(conn: &mut AsyncSqlite) -> Result<bool, DbError> {
    conn.batch_execute(BRIEF_TIMEOUT).await?;
    let pragma = diesel::sql_query("PRAGMA wal_checkpoint(TRUNCATE)");
    let checkpoint = pragma.get_result::<Checkpoint>(conn).await;
    conn.batch_execute(SQLITE_BUSY).await?;
    Ok(checkpoint?.busy == 0)
}
