//! What SQLite's one writer has the disk promise for each commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use diesel_async::SimpleAsyncConnection;

use crate::DbError;
use crate::db::AsyncSqlite;

/// Whether the writer's commits wait for the disk. All clones speak of the same
/// writer, of which there is one; whoever holds its connection asks.
#[derive(Clone, Default)]
pub(crate) struct Durability {
    /// Set before the disk is promised less, and taken back only after it is
    /// promised everything again: nothing that ends half-way leaves a commit
    /// without its promise.
    relaxed: Arc<AtomicBool>,
    /// Whether commits never wait: then there is nothing to relax.
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
