//! SCIM tokens in SQL.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{NewScimToken, ScimScope, ScimTokenEntry, ScimTokenStore, TokenHash};
use pia_kernel::{ScimTokenId, SideEffects, Timestamp, Unavailable};
use pia_storage::schema::{locks, scim_tokens as tokens};
use pia_storage::{Database, DbInstant, DbUid, WriteEffects, in_tx, on_conn};

/// Row of `locks` that is held while a token is added.
const LOCK: &str = "scim-tokens";

/// Adapter of `ScimTokenStore` over the table `scim_tokens`.
#[derive(Debug, Clone)]
pub struct SqlScimTokens {
    db: Database,
}

impl SqlScimTokens {
    /// Creates the store over `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl ScimTokenStore for SqlScimTokens {
    async fn add(
        &self,
        new: NewScimToken,
        max: usize,
        effects: SideEffects,
    ) -> Result<bool, Unavailable> {
        let max = i64::try_from(max).unwrap_or(i64::MAX);
        let row = Row::from(&new);
        in_tx!(self.db, async |conn| {
            // Locked, so that of many at once each counts the others.
            diesel::update(locks::table.find(LOCK))
                .set(locks::turn.eq(locks::turn + 1))
                .execute(conn)
                .await?;
            if tokens::table.count().get_result::<i64>(conn).await? >= max {
                return Ok(false);
            }
            diesel::insert_into(tokens::table).values(&row).execute(conn).await?;
            conn.write_effects(&self.db, &effects).await?;
            Ok(true)
        })
    }

    async fn list(&self) -> Result<Vec<ScimTokenEntry>, Unavailable> {
        let query = tokens::table.order((tokens::created_at, tokens::id));
        let rows: Vec<Row> =
            on_conn!(self.db.reader(), |conn| query.select(Row::as_select()).load(conn).await?)?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    async fn find(&self, hash: TokenHash) -> Result<Option<ScimTokenEntry>, Unavailable> {
        let token = tokens::table.filter(tokens::hash.eq(hash.0.to_vec()));
        let row: Option<Row> = on_conn!(self.db.reader(), |conn| {
            token.select(Row::as_select()).first(conn).await.optional()?
        })?;
        Ok(row.map(Into::into))
    }

    async fn record_use(
        &self,
        token: ScimTokenId,
        at: Timestamp,
        not_since: Timestamp,
    ) -> Result<(), Unavailable> {
        let is_due = tokens::used_at.is_null().or(tokens::used_at.le(DbInstant(not_since)));
        let due_token = tokens::table.find(DbUid(token.0)).filter(is_due.assume_not_null());
        let update = diesel::update(due_token).set(tokens::used_at.eq(DbInstant(at)));
        on_conn!(self.db.writer(), |conn| update.execute(conn).await?)?;
        Ok(())
    }

    async fn remove(&self, token: ScimTokenId, effects: SideEffects) -> Result<bool, Unavailable> {
        in_tx!(self.db, async |conn| {
            if diesel::delete(tokens::table.find(DbUid(token.0))).execute(conn).await? == 0 {
                return Ok(false);
            }
            conn.write_effects(&self.db, &effects).await?;
            Ok(true)
        })
    }
}

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = tokens)]
struct Row {
    id: DbUid,
    name: String,
    hash: Vec<u8>,
    scopes: String,
    created_by: Option<DbUid>,
    created_at: DbInstant,
    expires_at: DbInstant,
    used_at: Option<DbInstant>,
}

impl From<&NewScimToken> for Row {
    fn from(NewScimToken { entry, hash, created_by }: &NewScimToken) -> Self {
        let scopes: Vec<&str> = entry.scopes.iter().map(|it| it.name()).collect();
        Self {
            id: DbUid(entry.id.0),
            name: entry.name.clone(),
            hash: hash.0.to_vec(),
            scopes: scopes.join(" "),
            created_by: Some(DbUid(created_by.0)),
            created_at: DbInstant(entry.created_at),
            expires_at: DbInstant(entry.expires_at),
            used_at: entry.used_at.map(DbInstant),
        }
    }
}

impl From<Row> for ScimTokenEntry {
    fn from(row: Row) -> Self {
        Self {
            id: ScimTokenId(row.id.0),
            name: row.name,
            // A scope that only a later version knows grants nothing here.
            scopes: row.scopes.split(' ').filter_map(ScimScope::from_name).collect(),
            created_at: row.created_at.0,
            expires_at: row.expires_at.0,
            used_at: row.used_at.map(|it| it.0),
        }
    }
}
