//! Inspection and reset of an account's data, in SQL.
//!
//! Lists read no bodies. A reset deletes items, chats, devices and the recovery
//! copy under the ledger's lock; the ledger stays, with a new epoch and a higher
//! stamp, so that every device notices.

use async_trait::async_trait;
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{Cursor, PageRequest, SideEffects, StorageUse, Timestamp, Unavailable, UserId};
use pia_storage::schema::{
    accounts, chats, devices, group_settings, ledgers, recovery_keys, sync_events, sync_items,
};
use pia_storage::{
    Database, DbError, DbInstant, DbUid, TakeLedger, WriteEffects, fresh_epoch, in_tx, on_conn,
    storage_use,
};
use pia_sync::{Channel, ChatInfo, ItemInfo, ItemKey, StoredCounts, SyncAdminStore, SyncEvent};
use uuid::Uuid;

use crate::event_row::EventRow;
use crate::item_row::item_key;

/// Store for inspection and reset of accounts' data, in SQL.
#[derive(Debug, Clone)]
pub struct SqlSyncAdminStore {
    db: Database,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = chats)]
struct ChatRow {
    id: DbUid,
    stamp: DbInstant,
    updated_at: DbInstant,
    deleted_at: Option<DbInstant>,
    encrypted: bool,
    size: i32,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = sync_items)]
struct ItemInfoRow {
    channel: i16,
    id: DbUid,
    stamp: DbInstant,
    changed_at: DbInstant,
    deleted_at: Option<DbInstant>,
    encrypted: bool,
    size: i32,
}

/// Number of items of a channel, deleted ones included.
#[derive(Queryable)]
struct CountRow {
    channel: i16,
    total: i64,
    deleted: i64,
}

impl SqlSyncAdminStore {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    /// Returns the number of stored bytes, and the limit that the user's group sets.
    async fn stored_bytes(&self, user: UserId) -> Result<(i64, Option<i64>), DbError> {
        let account = accounts::table
            .find(DbUid(user.0))
            .left_join(ledgers::table.on(ledgers::user_id.eq(accounts::id)))
            .left_join(group_settings::table.on(group_settings::group_id.eq(accounts::group_id)))
            .select((
                ledgers::stored_bytes.nullable(),
                group_settings::user_storage_bytes.nullable(),
            ));
        let row: Option<(Option<i64>, Option<i64>)> =
            on_conn!(self.db.reader(), |conn| account.first(conn).await.optional()?)?;
        let (bytes, limit) = row.unwrap_or_default();
        Ok((bytes.unwrap_or_default(), limit))
    }

    async fn chats_of(
        &self,
        user: UserId,
        after: Option<Uuid>,
        max: u32,
    ) -> Result<Vec<ChatRow>, DbError> {
        let is_own = chats::user_id.eq(DbUid(user.0));
        Ok(on_conn!(self.db.reader(), |conn| {
            let mut query = chats::table.filter(is_own).into_boxed();
            if let Some(after) = after {
                query = query.filter(chats::id.gt(DbUid(after)));
            }
            query.order(chats::id).limit(max.into()).select(ChatRow::as_select()).load(conn).await?
        })?)
    }

    async fn log(&self, user: UserId, page: PageRequest) -> Result<Vec<EventRow>, DbError> {
        use sync_events::{at, id};

        let after = page.after.unwrap_or_else(Cursor::top);
        let time = DbInstant(after.at);
        let key = DbUid(after.id);
        let events = sync_events::table
            .filter(sync_events::user_id.eq(DbUid(user.0)))
            .filter(at.le(time).and(at.lt(time).or(id.lt(key))))
            .order((at.desc(), id.desc()))
            .limit(page.limit.into());

        Ok(on_conn!(self.db.reader(), |conn| {
            events.select(EventRow::as_select()).load(conn).await?
        })?)
    }
}

#[async_trait]
impl SyncAdminStore for SqlSyncAdminStore {
    async fn counts(&self, user: UserId) -> Result<Vec<StoredCounts>, Unavailable> {
        use sync_items::{channel, deleted_at, user_id};
        let counts = sync_items::table
            .filter(user_id.eq(DbUid(user.0)))
            .group_by(channel)
            .select((channel, count_star(), diesel::dsl::count(deleted_at)));
        let rows: Vec<CountRow> = on_conn!(self.db.reader(), |conn| counts.load(conn).await?)?;

        let number = |it| u32::try_from(it).unwrap_or(u32::MAX);
        let mut stored_counts = Vec::with_capacity(rows.len());
        for row in rows {
            let kind =
                Channel::from_code(row.channel).ok_or(DbError::Unreadable("sync_items.channel"))?;
            let live = number(row.total - row.deleted);
            stored_counts.push(StoredCounts { channel: kind, live, deleted: number(row.deleted) });
        }
        Ok(stored_counts)
    }

    async fn storage(&self, user: UserId, default_limit: u64) -> Result<StorageUse, Unavailable> {
        let (bytes, group_limit) = self.stored_bytes(user).await?;
        Ok(storage_use(bytes, group_limit, default_limit))
    }

    async fn all(
        &self,
        user: UserId,
        after: Option<ItemKey>,
        max: u32,
    ) -> Result<Vec<ItemInfo>, Unavailable> {
        use sync_items::{channel, id, table, user_id};

        let (code, last) =
            after.map_or((0, DbUid(Uuid::nil())), |it| (it.channel.code(), DbUid(it.id)));
        let is_after_cursor = channel.gt(code).or(channel.eq(code).and(id.gt(last)));
        let items = table
            .filter(user_id.eq(DbUid(user.0)).and(is_after_cursor))
            .order((channel, id))
            .limit(max.into());
        let rows: Vec<ItemInfoRow> = on_conn!(self.db.reader(), |conn| {
            items.select(ItemInfoRow::as_select()).load(conn).await?
        })?;

        Ok(rows.iter().map(to_item_info).collect::<Result<_, _>>()?)
    }

    async fn chats(
        &self,
        user: UserId,
        after: Option<Uuid>,
        max: u32,
    ) -> Result<Vec<ChatInfo>, Unavailable> {
        let rows = self.chats_of(user, after, max).await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    async fn events(&self, user: UserId, page: PageRequest) -> Result<Vec<SyncEvent>, Unavailable> {
        Ok(self.log(user, page).await?.into_iter().map(Into::into).collect())
    }

    async fn sweep(&self, time: Timestamp) -> Result<u64, Unavailable> {
        let old = sync_events::table.filter(sync_events::at.lt(DbInstant(time)));
        Ok(on_conn!(self.db.writer(), |conn| diesel::delete(old).execute(conn).await?)? as u64)
    }

    async fn reset(
        &self,
        user: UserId,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<bool, Unavailable> {
        let owner = DbUid(user.0);
        Ok(in_tx!(self.db, async |conn| -> Result<bool, DbError> {
            let Some(ledger) = conn.take_ledger(user).await? else { return Ok(false) };

            let items = sync_items::table.filter(sync_items::user_id.eq(owner));
            diesel::delete(items).execute(conn).await?;
            let owned_chats = chats::table.filter(chats::user_id.eq(owner));
            diesel::delete(owned_chats).execute(conn).await?;
            let owned_devices = devices::table.filter(devices::user_id.eq(owner));
            diesel::delete(owned_devices).execute(conn).await?;
            diesel::delete(recovery_keys::table.find(owner)).execute(conn).await?;
            let last = ledger.stamps(at).next().unwrap_or(ledger.last_stamp);
            let fresh_ledger = (
                ledgers::epoch.eq(fresh_epoch()?),
                ledgers::last_stamp.eq(DbInstant(last)),
                ledgers::encrypted_at.eq(None::<DbInstant>),
                ledgers::umk_version.eq(0),
                ledgers::reset_at.eq(DbInstant(at)),
                ledgers::stored_bytes.eq(0),
            );
            diesel::update(ledgers::table.find(owner)).set(fresh_ledger).execute(conn).await?;
            let event = EventRow::reset(user, at);
            diesel::insert_into(sync_events::table).values(event).execute(conn).await?;
            conn.write_effects(&self.db, &effects).await?;

            Ok(true)
        })?)
    }
}

impl From<ChatRow> for ChatInfo {
    fn from(row: ChatRow) -> Self {
        Self {
            id: row.id.0,
            stamp: row.stamp.0,
            updated_at: row.updated_at.0,
            deleted_at: row.deleted_at.map(|it| it.0),
            encrypted: row.encrypted,
            size: u32::try_from(row.size).unwrap_or_default(),
        }
    }
}

fn to_item_info(row: &ItemInfoRow) -> Result<ItemInfo, DbError> {
    Ok(ItemInfo {
        key: item_key(row.channel, row.id)?,
        stamp: row.stamp.0,
        changed_at: row.changed_at.0,
        deleted_at: row.deleted_at.map(|it| it.0),
        encrypted: row.encrypted,
        size: u32::try_from(row.size).unwrap_or_default(),
    })
}
