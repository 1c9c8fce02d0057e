//! Side effects that accompany no change of data, in SQL.

use async_trait::async_trait;
use pia_kernel::{EffectWriter, SideEffects, Unavailable};
use pia_storage::{Database, WriteEffects, in_tx};

/// Writer of side effects in SQL.
#[derive(Debug, Clone)]
pub struct SqlEffectWriter {
    db: Database,
}

impl SqlEffectWriter {
    /// Creates a writer to `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl EffectWriter for SqlEffectWriter {
    async fn write(&self, effects: &SideEffects) -> Result<(), Unavailable> {
        in_tx!(self.db, async |conn| { conn.write_effects(&self.db, effects).await })
    }
}
