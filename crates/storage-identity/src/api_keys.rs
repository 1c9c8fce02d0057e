//! API keys in SQL.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{
    ApiKeyEntry, ApiKeyHash, ApiKeyRef, ApiKeyRemoval, ApiKeyStore, CredentialStoreOutcome,
    KeyEndEffects, KeyScope, NewApiKey, VerifiedProof,
};
use pia_kernel::{ApiKeyId, SideEffects, Timestamp, Unavailable, UserId};
use pia_storage::schema::api_keys;
use pia_storage::{Database, DbInstant, DbUid, WriteEffects, in_tx, on_conn};

use crate::factor_writes::FactorWrites;

/// Adapter of `ApiKeyStore` over the table `api_keys`.
#[derive(Debug, Clone)]
pub struct SqlApiKeys {
    db: Database,
}

impl SqlApiKeys {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl ApiKeyStore for SqlApiKeys {
    async fn add(
        &self,
        new: NewApiKey,
        max: usize,
        verified: VerifiedProof,
        effects: SideEffects,
    ) -> Result<CredentialStoreOutcome, Unavailable> {
        let max = i64::try_from(max).unwrap_or(i64::MAX);
        let row = Row::from(&new);
        in_tx!(self.db, async |conn| {
            // Under the account's lock, so that concurrent calls count each
            // other's keys.
            if !conn.lock_session(new.by, new.entry.created_at).await? {
                return Ok(CredentialStoreOutcome::Gone);
            }

            let own_keys = api_keys::table.filter(api_keys::user_id.eq(row.user_id));
            if own_keys.count().get_result::<i64>(conn).await? >= max {
                return Ok(CredentialStoreOutcome::Full);
            }

            // A password or a recent sign-in is not consumed, and is valid without a second factor,
            // which `consume_proof` would require.
            let is_valid = match verified {
                VerifiedProof::Password | VerifiedProof::SignIn => true,
                VerifiedProof::Code(_) | VerifiedProof::RecoveryCode(_) => {
                    conn.consume_proof(new.by.user, verified).await?
                }
            };

            if !is_valid {
                return Ok(CredentialStoreOutcome::Stale);
            }

            diesel::insert_into(api_keys::table).values(&row).execute(conn).await?;
            conn.write_effects(&self.db, &effects).await?;

            Ok(CredentialStoreOutcome::Done)
        })
    }

    async fn list(&self, user: UserId) -> Result<Vec<ApiKeyEntry>, Unavailable> {
        let own_keys = api_keys::table
            .filter(api_keys::user_id.eq(DbUid(user.0)))
            .order((api_keys::created_at, api_keys::id));
        let rows: Vec<Row> = on_conn!(self.db.reader(), |conn| {
            own_keys.select(Row::as_select()).load(conn).await?
        })?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    async fn find(&self, hash: ApiKeyHash) -> Result<Option<ApiKeyRef>, Unavailable> {
        let key = api_keys::table.filter(api_keys::hash.eq(hash.0.to_vec()));
        let row: Option<RefRow> = on_conn!(self.db.reader(), |conn| {
            key.select(RefRow::as_select()).first(conn).await.optional()?
        })?;
        Ok(row.map(|it| ApiKeyRef { user: UserId(it.user_id.0), key: ApiKeyId(it.id.0) }))
    }

    async fn owner(&self, key: ApiKeyId) -> Result<Option<UserId>, Unavailable> {
        let owner = api_keys::table.find(DbUid(key.0)).select(api_keys::user_id);
        let user_id: Option<DbUid> =
            on_conn!(self.db.reader(), |conn| owner.first(conn).await.optional()?)?;
        Ok(user_id.map(|it| UserId(it.0)))
    }

    async fn record_use(
        &self,
        key: ApiKeyId,
        at: Timestamp,
        not_since: Timestamp,
    ) -> Result<(), Unavailable> {
        let is_due = api_keys::used_at.is_null().or(api_keys::used_at.le(DbInstant(not_since)));
        let due_key = api_keys::table.find(DbUid(key.0)).filter(is_due.assume_not_null());
        let update = diesel::update(due_key).set(api_keys::used_at.eq(DbInstant(at)));
        on_conn!(self.db.writer(), |conn| update.execute(conn).await?)?;
        Ok(())
    }

    async fn remove(
        &self,
        removal: ApiKeyRemoval,
        effects: KeyEndEffects,
    ) -> Result<bool, Unavailable> {
        let ApiKeyRef { user, key } = removal.key;
        let own_key =
            api_keys::table.find(DbUid(key.0)).filter(api_keys::user_id.eq(DbUid(user.0)));
        in_tx!(self.db, async |conn| {
            let name = own_key.select(api_keys::name).first::<String>(conn).await.optional()?;
            let Some(name) = name else { return Ok(false) };
            // Of concurrent deletions, one is audited.
            if diesel::delete(own_key).execute(conn).await? == 0 {
                return Ok(false);
            }
            conn.write_effects(&self.db, &effects(removal, &name)).await?;
            Ok(true)
        })
    }
}

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = api_keys)]
struct Row {
    id: DbUid,
    user_id: DbUid,
    name: String,
    hash: Vec<u8>,
    scopes: String,
    weekly_credits: i64,
    created_at: DbInstant,
    expires_at: Option<DbInstant>,
    used_at: Option<DbInstant>,
}

impl From<&NewApiKey> for Row {
    fn from(new: &NewApiKey) -> Self {
        let ApiKeyEntry { id, name, scopes, weekly_credits, created_at, expires_at, used_at } =
            &new.entry;
        let scopes: Vec<&str> = scopes.iter().map(|it| it.name()).collect();
        Self {
            id: DbUid(id.0),
            user_id: DbUid(new.by.user.0),
            name: name.clone(),
            hash: new.hash.0.to_vec(),
            scopes: scopes.join(" "),
            weekly_credits: *weekly_credits,
            created_at: DbInstant(*created_at),
            expires_at: expires_at.map(DbInstant),
            used_at: used_at.map(DbInstant),
        }
    }
}

impl From<Row> for ApiKeyEntry {
    fn from(row: Row) -> Self {
        Self {
            id: ApiKeyId(row.id.0),
            name: row.name,
            scopes: scopes_of(&row.scopes).unwrap_or_default(),
            weekly_credits: row.weekly_credits,
            created_at: row.created_at.0,
            expires_at: row.expires_at.map(|it| it.0),
            used_at: row.used_at.map(|it| it.0),
        }
    }
}

/// Columns of a reference to a key.
#[derive(Queryable, Selectable)]
#[diesel(table_name = api_keys)]
struct RefRow {
    user_id: DbUid,
    id: DbUid,
}

/// Parses the stored scopes; `None` if one of them is unknown, since a later version
/// may have restricted the key by it.
pub(crate) fn scopes_of(stored: &str) -> Option<Vec<KeyScope>> {
    stored.split(' ').map(KeyScope::from_name).collect()
}
