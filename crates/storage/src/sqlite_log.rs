//! SQLite's write-ahead log: its connection for checkpoints, and a count of writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use diesel_async::pooled_connection::deadpool::Pool;

use crate::pools::AsyncSqlite;

/// SQLite's log, and the one connection that empties it beside the writer. Only
/// the holder of that connection may empty it.
#[derive(Clone)]
pub(crate) struct SqliteLog {
    pub(crate) checkpointer: Pool<AsyncSqlite>,
    /// Number of writes that were begun since it was emptied.
    pub(crate) written: Arc<AtomicUsize>,
}

impl SqliteLog {
    pub(crate) fn new(checkpointer: Pool<AsyncSqlite>) -> Self {
        Self { checkpointer, written: Arc::default() }
    }

    /// Counts a write that begins.
    pub(crate) fn count_write(&self) {
        self.written.fetch_add(1, Ordering::Relaxed);
    }
}
