//! Setting overrides in SQL.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{SideEffects, Unavailable, UserId};
use pia_policy::{OverrideChange, OverrideLayer, OverrideStore, SettingOverride};
use pia_storage::schema::{locks, setting_overrides};
use pia_storage::{Database, DbError, DbInstant, DbUid, WriteEffects, in_tx, on_conn};
use serde_json::json;

/// Name of the row whose turn is the version.
const LOCK: &str = "setting-overrides";

/// Setting overrides in SQL.
#[derive(Debug, Clone)]
pub struct SqlSettingOverrides {
    db: Database,
}

#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = setting_overrides, treat_none_as_null = true)]
struct OverrideRow {
    key: String,
    value: String,
    updated_at: DbInstant,
    updated_by: Option<DbUid>,
}

/// Increments the version, and returns false from the transaction if another
/// change did since `version`.
macro_rules! take_turn {
    ($conn:expr, $version:expr) => {
        let turn = locks::table.find(LOCK).filter(locks::turn.eq($version));
        let updated_rows =
            diesel::update(turn).set(locks::turn.eq(locks::turn + 1)).execute($conn).await?;
        if updated_rows == 0 {
            return Ok(false);
        }
    };
}

/// Loads the value of an overridden setting, as the audit log records it.
macro_rules! value_of {
    ($conn:expr, $key:expr) => {{
        let value: Option<String> = setting_overrides::table
            .find($key)
            .select(setting_overrides::value)
            .first($conn)
            .await
            .optional()?;
        value.map(|it| json!({ "value": it }))
    }};
}

impl SqlSettingOverrides {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl OverrideStore for SqlSettingOverrides {
    async fn load(&self) -> Result<OverrideLayer, Unavailable> {
        let turn = locks::table.find(LOCK).select(locks::turn);
        let all = setting_overrides::table.order(setting_overrides::key);
        let (version, rows): (i64, Vec<OverrideRow>) = on_conn!(self.db.reader(), |conn| {
            let version = turn.first(conn).await?;
            (version, all.select(OverrideRow::as_select()).load(conn).await?)
        })?;
        Ok(OverrideLayer { version, settings: rows.into_iter().map(Into::into).collect() })
    }

    async fn set(&self, changes: Vec<OverrideChange>, version: i64) -> Result<bool, Unavailable> {
        let rows: Vec<_> =
            changes.into_iter().map(|it| (OverrideRow::from(it.setting), it.effects)).collect();
        Ok(in_tx!(self.db, async |conn| -> Result<bool, DbError> {
            take_turn!(conn, version);

            for (row, effects) in &rows {
                let before = value_of!(conn, &row.key);
                diesel::insert_into(setting_overrides::table)
                    .values(row)
                    .on_conflict(setting_overrides::key)
                    .do_update()
                    .set(row)
                    .execute(conn)
                    .await?;
                let after = json!({ "value": row.value });
                let effects = effects.with_changes(before.as_ref(), Some(&after));
                conn.write_effects(&self.db, &effects).await?;
            }

            Ok(true)
        })?)
    }

    async fn remove(
        &self,
        key: &str,
        version: i64,
        effects: SideEffects,
    ) -> Result<bool, Unavailable> {
        Ok(in_tx!(self.db, async |conn| -> Result<bool, DbError> {
            take_turn!(conn, version);
            let before = value_of!(conn, key);
            diesel::delete(setting_overrides::table.find(key)).execute(conn).await?;
            let effects = effects.with_changes(before.as_ref(), None);
            conn.write_effects(&self.db, &effects).await?;
            Ok(true)
        })?)
    }
}

impl From<SettingOverride> for OverrideRow {
    fn from(setting: SettingOverride) -> Self {
        let SettingOverride { key, value, updated_at, updated_by } = setting;
        Self {
            key,
            value,
            updated_at: DbInstant(updated_at),
            updated_by: updated_by.map(|it| DbUid(it.0)),
        }
    }
}

impl From<OverrideRow> for SettingOverride {
    fn from(row: OverrideRow) -> Self {
        let OverrideRow { key, value, updated_at, updated_by } = row;
        Self { key, value, updated_at: updated_at.0, updated_by: updated_by.map(|it| UserId(it.0)) }
    }
}
