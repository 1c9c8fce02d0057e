//! Register of the master key in SQL.
//!
//! The table has at most one row. The first instance inserts it and all others read
//! it; a rotation updates it. `KeyGuardOutcome::check` in `sealing` decides when.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::Unavailable;
use pia_sealing::{InstalledKey, KeyId, KeyRegister, KeyReplacementOutcome};
use pia_storage::schema::master_key;
use pia_storage::{Database, on_conn};

/// Id of the only row.
const ROW: i32 = 1;

/// Register of the master key's id in SQL.
#[derive(Clone)]
pub struct SqlKeyRegister {
    db: Database,
}

impl SqlKeyRegister {
    /// Creates the register in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl KeyRegister for SqlKeyRegister {
    async fn install(&self, ours: &KeyId) -> Result<InstalledKey, Unavailable> {
        let row = (master_key::id.eq(ROW), master_key::key_id.eq(ours.as_str()));
        Ok(on_conn!(self.db.writer(), |conn| {
            diesel::insert_into(master_key::table)
                .values(row)
                .on_conflict_do_nothing()
                .execute(conn)
                .await?;
            let text: String =
                master_key::table.find(ROW).select(master_key::key_id).first(conn).await?;
            let stored_id = KeyId::from_stored(text);
            if stored_id == *ours { InstalledKey::Ours } else { InstalledKey::Other(stored_id) }
        })?)
    }

    async fn replace(
        &self,
        other: &KeyId,
        ours: &KeyId,
    ) -> Result<KeyReplacementOutcome, Unavailable> {
        // A row that another instance already set to `ours` counts as replaced.
        let names = [other.as_str(), ours.as_str()];
        Ok(on_conn!(self.db.writer(), |conn| {
            let row = master_key::table.find(ROW).filter(master_key::key_id.eq_any(names));
            let replaced_rows =
                diesel::update(row).set(master_key::key_id.eq(ours.as_str())).execute(conn).await?;
            if replaced_rows == 1 {
                KeyReplacementOutcome::Done
            } else {
                KeyReplacementOutcome::Conflict
            }
        })?)
    }
}
