//! Statements of a push, each for both backends. `applying.rs` executes them in its
//! transaction, while the account's ledger is locked.

use std::collections::HashMap;

use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{Timestamp, UserId};
use pia_storage::schema::{managed_personas, plugins, sync_items};
use pia_storage::{DbError, DbInstant, DbUid, connection_trait};
use pia_sync::{Channel, ItemKey, StoredItem, WriteRestrictions};

use crate::item_row::item_key;

/// Items that a push names.
#[derive(Debug, Default)]
pub(crate) struct PushKeys {
    pub(crate) channels: Vec<i16>,
    pub(crate) ids: Vec<DbUid>,
    pub(crate) personas: Vec<DbUid>,
    pub(crate) plugins: Vec<DbUid>,
}

connection_trait! {
    /// Statements of a push.
    pub(crate) trait PushStatements {
        /// Loads the stored state of all named items, tombstones included; items that were
        /// never stored are missing.
        async fn stored_rows(
            &mut self,
            user: UserId,
            keys: &PushKeys,
        ) -> Result<HashMap<ItemKey, StoredItem>, DbError> {
            if keys.ids.is_empty() {
                return Ok(HashMap::new());
            }

            let rows = sync_items::table
                .filter(sync_items::user_id.eq(DbUid(user.0)))
                .filter(sync_items::channel.eq_any(&keys.channels))
                .filter(sync_items::id.eq_any(&keys.ids))
                .select(StoredItemRow::as_select())
                .load(self)
                .await?;

            rows.into_iter().map(stored_item).collect()
        }

        /// Loads the named rows that restrict writes.
        async fn write_restrictions(&mut self, keys: &PushKeys) -> Result<WriteRestrictions, DbError> {
            let mut restrictions = WriteRestrictions::default();
            if !keys.personas.is_empty() {
                let existing_personas = managed_personas::table
                    .filter(managed_personas::id.eq_any(&keys.personas))
                    .select(managed_personas::id)
                    .load::<DbUid>(self)
                    .await?;
                restrictions.managed_personas =
                    existing_personas.into_iter().map(|it| it.0).collect();
            }

            if !keys.plugins.is_empty() {
                let existing_plugins = plugins::table
                    .filter(plugins::id.eq_any(&keys.plugins))
                    .filter(plugins::deleted_at.is_null())
                    .select(plugins::id)
                    .load::<DbUid>(self)
                    .await?;
                restrictions.known_plugins = existing_plugins.into_iter().map(|it| it.0).collect();
            }

            Ok(restrictions)
        }

        /// Returns the number of live items of each of these channels.
        async fn live_counts(
            &mut self,
            user: UserId,
            channels: &[Channel],
        ) -> Result<HashMap<Channel, i64>, DbError> {
            if channels.is_empty() {
                return Ok(HashMap::new());
            }

            let codes: Vec<i16> = channels.iter().map(|it| it.code()).collect();
            let counts = sync_items::table
                .filter(sync_items::user_id.eq(DbUid(user.0)))
                .filter(sync_items::channel.eq_any(codes))
                .filter(sync_items::deleted_at.is_null())
                .group_by(sync_items::channel)
                .select((sync_items::channel, count_star()))
                .load::<(i16, i64)>(self)
                .await?;

            let by_channel = |(code, count)| Some((Channel::from_code(code)?, count));
            Ok(counts.into_iter().filter_map(by_channel).collect())
        }

        /// Loads the stored bodies under these keys, sealed.
        async fn bodies(
            &mut self,
            user: UserId,
            keys: &[ItemKey],
        ) -> Result<HashMap<ItemKey, Vec<u8>>, DbError> {
            let ids: Vec<DbUid> = keys.iter().map(|it| DbUid(it.id)).collect();
            // All channels are named, since the primary key lists them before the ids.
            let codes: Vec<i16> = Channel::ALL.iter().map(|it| it.code()).collect();
            let rows = sync_items::table
                .filter(sync_items::user_id.eq(DbUid(user.0)))
                .filter(sync_items::channel.eq_any(codes))
                .filter(sync_items::id.eq_any(ids))
                .select((sync_items::channel, sync_items::id, sync_items::body))
                .load::<(i16, DbUid, Option<Vec<u8>>)>(self)
                .await?;

            let mut bodies = HashMap::new();
            for (code, id, body) in rows {
                let key = item_key(code, id)?;
                bodies.extend(body.map(|it| (key, it)));
            }

            Ok(bodies)
        }

        /// Gives an item a new stamp, and stores the digest of the rejected version.
        async fn restamp(
            &mut self,
            user: UserId,
            restamped: Restamped,
        ) -> Result<(), DbError> {
            let Restamped { key, stamp, rejected_digest } = restamped;
            let row = (DbUid(user.0), key.channel.code(), DbUid(key.id));
            diesel::update(sync_items::table.find(row))
                .set((
                    sync_items::stamp.eq(DbInstant(stamp)),
                    sync_items::last_rejected_digest.eq(rejected_digest),
                ))
                .execute(self)
                .await?;
            Ok(())
        }

        /// Deletes the oldest `count` items of a channel, without tombstones. Returns
        /// the bytes freed.
        async fn delete_oldest(
            &mut self,
            user: UserId,
            channel: Channel,
            count: i64,
        ) -> Result<i64, DbError> {
            let items = sync_items::table
                .filter(sync_items::user_id.eq(DbUid(user.0)))
                .filter(sync_items::channel.eq(channel.code()));

            let oldest = items
                .filter(sync_items::deleted_at.is_null())
                .order((sync_items::changed_at.asc(), sync_items::id.asc()))
                .limit(count)
                .select((sync_items::id, sync_items::size))
                .load::<(DbUid, i32)>(self)
                .await?;
            let bytes = oldest.iter().map(|it| i64::from(it.1)).sum();
            let oldest_ids: Vec<DbUid> = oldest.into_iter().map(|it| it.0).collect();
            diesel::delete(items.filter(sync_items::id.eq_any(oldest_ids))).execute(self).await?;

            Ok(bytes)
        }
    }
}

/// Unchanged item with a new stamp.
#[derive(Debug)]
pub(crate) struct Restamped {
    pub(crate) key: ItemKey,
    pub(crate) stamp: Timestamp,
    /// Digest of the version that was rejected last.
    pub(crate) rejected_digest: Vec<u8>,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = sync_items)]
struct StoredItemRow {
    channel: i16,
    id: DbUid,
    stamp: DbInstant,
    changed_at: DbInstant,
    deleted_at: Option<DbInstant>,
    encrypted: bool,
    digest: Vec<u8>,
    device_id: Option<String>,
    last_rejected_digest: Option<Vec<u8>>,
    size: i32,
}

fn stored_item(row: StoredItemRow) -> Result<(ItemKey, StoredItem), DbError> {
    let item = StoredItem {
        stamp: row.stamp.0,
        changed_at: row.changed_at.0,
        deleted_at: row.deleted_at.map(|it| it.0),
        encrypted: row.encrypted,
        digest: row.digest,
        device: row.device_id,
        last_rejected_digest: row.last_rejected_digest,
        size: row.size.unsigned_abs(),
    };
    Ok((item_key(row.channel, row.id)?, item))
}
