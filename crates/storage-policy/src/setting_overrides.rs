//! Setting overrides in SQL.
//!
//! The version of all overrides is the turn of one row of `locks`: a write increments
//! it first, guarded by the version that the caller loaded. Secrets are sealed, and the
//! audit log records only that there is one.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{Secret, SideEffects, Unavailable, UserId};
use pia_policy::{OverrideChange, OverrideLayer, OverrideStore, OverrideValue, SettingOverride};
use pia_sealing::SealContext;
use pia_storage::schema::{locks, setting_overrides};
use pia_storage::{Database, DbError, DbInstant, DbUid, WriteEffects, in_tx, on_conn};
use serde_json::{Value, json};

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
    /// Empty for a secret.
    value: String,
    updated_at: DbInstant,
    updated_by: Option<DbUid>,
    /// Sealed value of a secret.
    sealed: Option<Vec<u8>>,
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
        let row = setting_overrides::table.find($key).select(OverrideRow::as_select());
        let row: Option<OverrideRow> = row.first($conn).await.optional()?;
        row.as_ref().map(OverrideRow::audit_value)
    }};
}

impl SqlSettingOverrides {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    fn format_row(&self, setting: SettingOverride) -> Result<OverrideRow, DbError> {
        let SettingOverride { key, value, updated_at, updated_by } = setting;
        let (value, sealed) = match value {
            OverrideValue::Plain(text) => (text, None),
            OverrideValue::Secret(text) => {
                let plaintext = Secret::new(text.reveal().into_bytes());
                (String::new(), Some(self.db.seal()?.seal(seal_context(&key), &plaintext)?))
            }
            OverrideValue::Unreadable => {
                return Err(DbError::Unreadable("setting_overrides.sealed"));
            }
        };

        Ok(OverrideRow {
            key,
            value,
            updated_at: DbInstant(updated_at),
            updated_by: updated_by.map(|it| DbUid(it.0)),
            sealed,
        })
    }

    fn parse_row(&self, row: OverrideRow) -> Result<SettingOverride, DbError> {
        let OverrideRow { key, value, updated_at, updated_by, sealed } = row;
        let value = match sealed {
            None => OverrideValue::Plain(value),
            Some(sealed) => {
                let plaintext = self.db.seal()?.open(seal_context(&key), &sealed).ok();
                let text = plaintext.and_then(|it| String::from_utf8(it.reveal()).ok());
                text.map_or(OverrideValue::Unreadable, |it| OverrideValue::Secret(Secret::new(it)))
            }
        };
        let updated_by = updated_by.map(|it| UserId(it.0));

        Ok(SettingOverride { key, value, updated_at: updated_at.0, updated_by })
    }
}

fn seal_context(key: &str) -> SealContext<'_> {
    SealContext { purpose: "setting", row: key.as_bytes() }
}

#[async_trait]
impl OverrideStore for SqlSettingOverrides {
    async fn load(&self) -> Result<OverrideLayer, Unavailable> {
        let turn = locks::table.find(LOCK).select(locks::turn);
        let all_overrides = setting_overrides::table.order(setting_overrides::key);
        let (version, rows): (i64, Vec<OverrideRow>) = on_conn!(self.db.reader(), |conn| {
            // Before the rows: a change in between makes a write start over.
            let version = turn.first(conn).await?;
            (version, all_overrides.select(OverrideRow::as_select()).load(conn).await?)
        })?;
        let settings = rows.into_iter().map(|it| self.parse_row(it));
        Ok(OverrideLayer { version, settings: settings.collect::<Result<_, _>>()? })
    }

    async fn set(&self, changes: Vec<OverrideChange>, version: i64) -> Result<bool, Unavailable> {
        let rows = changes.into_iter().map(|it| Ok((self.format_row(it.setting)?, it.effects)));
        let rows: Vec<_> = rows.collect::<Result<_, DbError>>()?;
        in_tx!(self.db, async |conn| {
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
                let effects = effects.with_changes(before.as_ref(), Some(&row.audit_value()));
                conn.write_effects(&self.db, &effects).await?;
            }

            Ok(true)
        })
    }

    async fn remove(
        &self,
        key: &str,
        version: i64,
        effects: SideEffects,
    ) -> Result<bool, Unavailable> {
        in_tx!(self.db, async |conn| {
            take_turn!(conn, version);
            let before = value_of!(conn, key);
            diesel::delete(setting_overrides::table.find(key)).execute(conn).await?;
            let effects = effects.with_changes(before.as_ref(), None);
            conn.write_effects(&self.db, &effects).await?;
            Ok(true)
        })
    }
}

impl OverrideRow {
    /// Returns what the audit log records: of a secret that there is one.
    fn audit_value(&self) -> Value {
        match self.sealed {
            Some(_) => json!({ "secret": true }),
            None => json!({ "value": self.value }),
        }
    }
}
