//! Row of an item, and bulk upserts: an item that exists is replaced in all
//! columns but its key, so that a tombstone clears the body and a change revives
//! a tombstone.

use diesel::prelude::*;
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;
use pia_kernel::{Timestamp, UserId};
use pia_storage::schema::sync_items;
use pia_storage::{AsyncPostgres, AsyncSqlite, DbError, DbInstant, DbUid};
use pia_sync::{Channel, ItemKey};

/// PostgreSQL takes at most 65,535 values in one statement.
const ROWS_AT_ONCE: usize = 65_535 / 12;

#[derive(Debug, Clone, Insertable)]
#[diesel(table_name = sync_items)]
pub(crate) struct ItemRow {
    pub(crate) user_id: DbUid,
    pub(crate) channel: i16,
    pub(crate) id: DbUid,
    pub(crate) stamp: DbInstant,
    pub(crate) changed_at: DbInstant,
    pub(crate) deleted_at: Option<DbInstant>,
    pub(crate) encrypted: bool,
    pub(crate) device_id: Option<String>,
    pub(crate) size: i32,
    pub(crate) digest: Vec<u8>,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) last_rejected_digest: Option<Vec<u8>>,
}

impl ItemRow {
    /// Returns the tombstone of a deleted item.
    pub(crate) fn new_tombstone(
        user: UserId,
        key: ItemKey,
        stamp: Timestamp,
        changed_at: Timestamp,
        deleted_at: Timestamp,
    ) -> Self {
        Self {
            user_id: DbUid(user.0),
            channel: key.channel.code(),
            id: DbUid(key.id),
            stamp: DbInstant(stamp),
            changed_at: DbInstant(changed_at),
            deleted_at: Some(DbInstant(deleted_at)),
            encrypted: false,
            device_id: None,
            size: 0,
            digest: Vec::new(),
            body: None,
            last_rejected_digest: None,
        }
    }
}

/// Returns the key of a row.
pub(crate) fn item_key(channel: i16, id: DbUid) -> Result<ItemKey, DbError> {
    let channel = Channel::from_code(channel).ok_or(DbError::Unreadable("sync_items.channel"))?;
    Ok(ItemKey { channel, id: id.0 })
}

/// Connection that inserts or replaces items.
pub(crate) trait PutItems {
    /// Writes all rows, with as few statements as the database allows.
    fn put_items(&mut self, rows: Vec<ItemRow>) -> impl Future<Output = QueryResult<()>> + Send;
}

macro_rules! upsert {
    ($rows:expr) => {
        diesel::insert_into(sync_items::table)
            .values($rows)
            .on_conflict((sync_items::user_id, sync_items::channel, sync_items::id))
            .do_update()
            .set((
                sync_items::stamp.eq(excluded(sync_items::stamp)),
                sync_items::changed_at.eq(excluded(sync_items::changed_at)),
                sync_items::deleted_at.eq(excluded(sync_items::deleted_at)),
                sync_items::encrypted.eq(excluded(sync_items::encrypted)),
                sync_items::device_id.eq(excluded(sync_items::device_id)),
                sync_items::size.eq(excluded(sync_items::size)),
                sync_items::digest.eq(excluded(sync_items::digest)),
                sync_items::body.eq(excluded(sync_items::body)),
                sync_items::last_rejected_digest.eq(excluded(sync_items::last_rejected_digest)),
            ))
    };
}

impl PutItems for AsyncPostgres {
    async fn put_items(&mut self, mut rows: Vec<ItemRow>) -> QueryResult<()> {
        while !rows.is_empty() {
            let later_rows = rows.split_off(rows.len().min(ROWS_AT_ONCE));
            upsert!(rows).execute(self).await?;
            rows = later_rows;
        }
        Ok(())
    }
}

/// Writes one row at a time, on the thread that owns the connection: the
/// statement stays prepared, and there is no round trip to save.
impl PutItems for AsyncSqlite {
    async fn put_items(&mut self, rows: Vec<ItemRow>) -> QueryResult<()> {
        if rows.is_empty() {
            return Ok(());
        }
        self.spawn_blocking(move |conn| {
            for row in rows {
                diesel::RunQueryDsl::execute(upsert!(row), conn)?;
            }
            Ok(())
        })
        .await
    }
}
