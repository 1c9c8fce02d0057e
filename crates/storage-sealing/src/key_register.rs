//! The master key's name in SQL.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::Unavailable;
use pia_sealing::{InstalledKey, KeyId, KeyRegister};
use pia_storage::schema::master_key;
use pia_storage::{Database, DbError, on_conn};

/// The one row that there is.
const ROW: i32 = 1;

/// The master key's name in SQL.
#[derive(Clone)]
pub struct SqlKeyRegister {
    db: Database,
}

impl SqlKeyRegister {
    /// The name kept in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    async fn insert_or_compare(&self, ours: &KeyId) -> Result<InstalledKey, DbError> {
        let row = (master_key::id.eq(ROW), master_key::key_id.eq(ours.as_str()));
        on_conn!(self.db.writer(), |conn| {
            diesel::insert_into(master_key::table)
                .values(row)
                .on_conflict_do_nothing()
                .execute(conn)
                .await?;
            let kept = master_key::table.find(ROW).select(master_key::key_id);
            let kept = KeyId::from_stored(kept.first(conn).await?);
            Ok(if kept == *ours { InstalledKey::Ours } else { InstalledKey::Other(kept) })
        })
    }

    async fn exchange(&self, other: &KeyId, ours: &KeyId) -> Result<bool, DbError> {
        let names = [other.as_str(), ours.as_str()];
        on_conn!(self.db.writer(), |conn| {
            let row = master_key::table.find(ROW).filter(master_key::key_id.eq_any(names));
            let replaced =
                diesel::update(row).set(master_key::key_id.eq(ours.as_str())).execute(conn).await?;
            Ok(replaced == 1)
        })
    }
}

#[async_trait]
impl KeyRegister for SqlKeyRegister {
    async fn install(&self, ours: &KeyId) -> Result<InstalledKey, Unavailable> {
        Ok(self.insert_or_compare(ours).await?)
    }

    async fn replace(&self, other: &KeyId, ours: &KeyId) -> Result<bool, Unavailable> {
        Ok(self.exchange(other, ours).await?)
    }
}
