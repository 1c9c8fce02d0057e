//! Reading of changes, in SQL, for `PullService`.
//!
//! SQLite reads on the thread that owns the connection; PostgreSQL streams. The
//! catalogue of each group is cached in memory and is read again when its version
//! differs; the lock is not held while it is read.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use diesel_async::RunQueryDsl;
use futures_util::join;
use pia_kernel::{Timestamp, Unavailable, UserId};
use pia_sealing::Sealer;
use pia_storage::schema::{person_salts, sync_items};
use pia_storage::{AsyncPostgres, Conn, Database, DbError, DbInstant, DbUid, on_conn};
use pia_sync::{Catalogue, Channel, Head, ItemKey, ItemPage, PageLimit, SyncReader};
use serde_json::Value;
use uuid::Uuid;

use crate::catalogue::catalogue_of;
use crate::head_query::{head_of, head_query};
use crate::page_making::{PageBuilder, seal};
use crate::page_query::PageQuery;
use crate::sealed_bodies;

/// Reader of changes, in SQL.
#[derive(Clone)]
pub struct SqlSyncReader {
    db: Database,
    sealer: Sealer,
    /// Last catalogue of each group, which is valid as long as its version is
    /// the latest.
    catalogue_cache: Arc<Mutex<HashMap<Uuid, (i64, Catalogue)>>>,
}

impl SqlSyncReader {
    /// Creates a reader of `db`, whose bodies `sealer` sealed.
    pub fn new(db: Database, sealer: Sealer) -> Self {
        Self { db, sealer, catalogue_cache: Arc::default() }
    }

    fn page_of(
        &self,
        user: UserId,
        since: Timestamp,
        limit: PageLimit,
    ) -> (PageQuery, PageBuilder) {
        let builder = PageBuilder::new(self.sealer.clone(), user, limit);
        (PageQuery::new(user, since, limit), builder)
    }
}

#[async_trait]
impl SyncReader for SqlSyncReader {
    async fn head(&self, user: UserId) -> Result<Option<Head>, Unavailable> {
        let query = head_query!(user);
        let row = on_conn!(self.db.reader(), |conn| query.first(conn).await.optional()?)?;
        Ok(row.map(head_of))
    }

    async fn page(
        &self,
        user: UserId,
        since: Timestamp,
        limit: PageLimit,
    ) -> Result<ItemPage, Unavailable> {
        let (query, builder) = self.page_of(user, since, limit);
        let page = match self.db.reader().await? {
            Conn::Sqlite(mut conn) => {
                let loading =
                    conn.spawn_blocking(move |conn| Ok(query.load_blocking(conn, builder)));
                loading.await.map_err(DbError::from)?
            }
            Conn::Postgres(conn) => query.stream(&conn, builder).await,
        };
        Ok(page?)
    }

    async fn head_and_page(
        &self,
        user: UserId,
        since: Timestamp,
        limit: PageLimit,
    ) -> Result<Option<(Head, ItemPage)>, Unavailable> {
        // On SQLite that is one task, on PostgreSQL one round trip: statements
        // are sent in the order in which they are first polled, and the server
        // executes them in that order, each with its own snapshot.
        let (query, builder) = self.page_of(user, since, limit);
        let (head_row, page) = match self.db.reader().await? {
            Conn::Sqlite(mut conn) => {
                let load_both = move |conn: &mut SqliteConnection| {
                    let head_row =
                        diesel::RunQueryDsl::first(head_query!(user), conn).optional()?;
                    Ok((head_row, query.load_blocking(conn, builder)))
                };
                conn.spawn_blocking(load_both).await.map_err(DbError::from)?
            }
            Conn::Postgres(conn) => {
                let mut shared: &AsyncPostgres = &conn;
                let loading_head = head_query!(user).first(&mut shared);
                let (head_row, page) = join!(loading_head, query.stream(&conn, builder));
                (head_row.optional().map_err(DbError::from)?, page)
            }
        };

        let page = page?;
        Ok(head_row.map(|row| (head_of(row), page)))
    }

    async fn last_until(
        &self,
        user: UserId,
        stamp: Timestamp,
    ) -> Result<Option<Timestamp>, Unavailable> {
        let until = sync_items::stamp.le(DbInstant(stamp));
        let last = sync_items::table
            .filter(sync_items::user_id.eq(DbUid(user.0)).and(until))
            .order(sync_items::stamp.desc())
            .select(sync_items::stamp);
        let last_stamp: Option<DbInstant> =
            on_conn!(self.db.reader(), |conn| last.first(conn).await.optional()?)?;
        Ok(last_stamp.map(|it| it.0))
    }

    async fn catalogue(&self, group: Uuid, version: i64) -> Result<Catalogue, Unavailable> {
        let cached = self
            .catalogue_cache
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&group)
            .cloned();

        if let Some((_, catalogue)) =
            cached.filter(|(cached_version, _)| *cached_version == version)
        {
            return Ok(catalogue);
        }

        let catalogue = catalogue_of(&self.db, group).await?;
        let mut cache = self.catalogue_cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.insert(group, (version, catalogue.clone()));

        Ok(catalogue)
    }

    async fn preferences(&self, user: UserId) -> Result<Vec<(Uuid, bool)>, Unavailable> {
        let own_preferences = sync_items::table
            .inner_join(person_salts::table.on(person_salts::user_id.eq(sync_items::user_id)))
            .filter(sync_items::user_id.eq(DbUid(user.0)))
            .filter(sync_items::channel.eq(Channel::PluginPreferences.code()))
            .select((sync_items::id, sync_items::body, person_salts::salt));

        let rows: Vec<(DbUid, Option<Vec<u8>>, Vec<u8>)> =
            on_conn!(self.db.reader(), |conn| own_preferences.load(conn).await?)?;
        let Some(seal) = seal(&self.sealer, user, rows.as_slice().first().map(|it| it.2.clone()))?
        else {
            return Ok(Vec::new());
        };

        let mut preferences = Vec::with_capacity(rows.len());
        for (id, body, _) in rows {
            let key = ItemKey { channel: Channel::PluginPreferences, id: id.0 };
            let opened = body.and_then(|it| sealed_bodies::open(&seal, key, &it));
            let Some(text) = opened else { continue };
            let preference: Option<Value> = serde_json::from_str(&text).ok();
            let is_enabled = preference.and_then(|it| it.get("isEnabled")?.as_bool());
            preferences.extend(is_enabled.map(|it| (id.0, it)));
        }

        Ok(preferences)
    }
}
