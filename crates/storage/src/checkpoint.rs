//! Emptying SQLite's log into the file, and cutting it.

use std::sync::atomic::{AtomicUsize, Ordering};

use diesel::prelude::*;
use diesel::sql_types::Integer;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};

use crate::db::Database;
use crate::error::DbError;
use crate::pools::{AsyncSqlite, Pools};
use crate::sqlite::SQLITE_BUSY;

/// Short wait for the lock, since writers wait meanwhile.
const BRIEFLY: &str = "PRAGMA busy_timeout = 250;";

/// Number of times that somebody may have written before the log is worth
/// emptying.
const WORTHWHILE: usize = 64;

/// From how many pages on the log is to begin anew: 16 MiB.
const LONG: i32 = 4096;

#[derive(QueryableByName)]
struct Checkpoint {
    #[diesel(sql_type = Integer)]
    busy: i32,
    /// Number of pages there are in the log.
    #[diesel(sql_type = Integer)]
    log: i32,
}

impl Database {
    /// Empties SQLite's log into the file beside those who read and write, if
    /// enough was written meanwhile; call it a few times a second. Otherwise
    /// whoever fills the log would do it within their commit, and all others
    /// would wait until the disk has it. PostgreSQL looks after its own.
    pub async fn checkpoint(&self) -> Result<(), DbError> {
        let Pools::Sqlite { writer, log, .. } = &self.pools else { return Ok(()) };
        if AtomicUsize::load(&log.written, Ordering::Relaxed) < WORTHWHILE {
            return Ok(());
        }
        let mut conn = log.checkpointer.get().await?;
        log.written.store(0, Ordering::Relaxed);
        if passive(&mut conn).await?.log >= LONG {
            // The log begins anew once nothing is left in it: that takes a
            // moment without writers, in which there is little to do by now.
            passive(&mut *writer.get().await?).await?;
        }
        Ok(())
    }

    /// Empties SQLite's log into the file and cuts it, so that what was deleted
    /// is in neither. Answers whether it could: somebody who reads stands in
    /// its way. PostgreSQL looks after its own.
    pub async fn truncate_log(&self) -> Result<bool, DbError> {
        let Pools::Sqlite { writer, log, .. } = &self.pools else { return Ok(true) };
        let _alone = log.checkpointer.get().await?;
        truncate(&mut *writer.get().await?).await
    }
}

async fn passive(conn: &mut AsyncSqlite) -> Result<Checkpoint, DbError> {
    let pragma = diesel::sql_query("PRAGMA wal_checkpoint(PASSIVE)");
    Ok(pragma.get_result::<Checkpoint>(conn).await?)
}

async fn truncate(conn: &mut AsyncSqlite) -> Result<bool, DbError> {
    conn.batch_execute(BRIEFLY).await?;
    let pragma = diesel::sql_query("PRAGMA wal_checkpoint(TRUNCATE)");
    let done = pragma.get_result::<Checkpoint>(conn).await;
    conn.batch_execute(SQLITE_BUSY).await?;
    Ok(done?.busy == 0)
}
