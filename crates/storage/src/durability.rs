//! Durability of the commits of SQLite's one writer.
//!
//! Commits of counters need not survive a power cut, all others must. `db.rs` calls
//! `relax` before the former and `restore` before the latter, on the one connection
//! that writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use diesel_async::SimpleAsyncConnection;

use crate::error::DbError;
use crate::pools::AsyncSqlite;

/// Durability of the writer's commits. All clones share the one writer; the
/// holder of its connection applies it.
#[derive(Clone, Default)]
pub(crate) struct Durability {
    /// Set before the disk's guarantee is relaxed, and cleared only after it is
    /// restored: an interruption in between leaves no durable commit without
    /// its guarantee.
    relaxed: Arc<AtomicBool>,
    /// True if commits never wait for the disk: then there is nothing to relax.
    never: bool,
}

impl Durability {
    pub(crate) fn new(commits_wait: bool) -> Self {
        Self { relaxed: Arc::default(), never: !commits_wait }
    }

    pub(crate) async fn relax(&self, conn: &mut AsyncSqlite) -> Result<(), DbError> {
        if !self.never && !self.relaxed.swap(true, Ordering::SeqCst) {
            conn.batch_execute("PRAGMA synchronous = NORMAL").await?;
        }
        Ok(())
    }

    pub(crate) async fn restore(&self, conn: &mut AsyncSqlite) -> Result<(), DbError> {
        if !self.never && self.relaxed.load(Ordering::SeqCst) {
            conn.batch_execute("PRAGMA synchronous = FULL").await?;
            self.relaxed.store(false, Ordering::SeqCst);
        }
        Ok(())
    }
}
