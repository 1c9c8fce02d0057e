//! App passwords in SQL.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{
    AppPasswordEntry, AppPasswordHash, AppPasswordRemoval, AppPasswordStore,
    CredentialStoreOutcome, EndEffects, NewAppPassword, RemovalEffects, VerifiedProof,
};
use pia_kernel::{AppPasswordId, SideEffects, Unavailable, UserId};
use pia_storage::schema::{app_passwords, sessions};
use pia_storage::{Database, DbInstant, DbUid, WriteEffects, in_tx, on_conn};

use crate::factor_writes::FactorWrites;

/// Adapter of `AppPasswordStore` over the table `app_passwords`.
#[derive(Debug, Clone)]
pub struct SqlAppPasswords {
    db: Database,
}

impl SqlAppPasswords {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl AppPasswordStore for SqlAppPasswords {
    async fn add(
        &self,
        new: NewAppPassword,
        max: usize,
        verified: VerifiedProof,
        effects: SideEffects,
    ) -> Result<CredentialStoreOutcome, Unavailable> {
        let max = i64::try_from(max).unwrap_or(i64::MAX);
        let row = NewRow::from(&new);
        in_tx!(self.db, async |conn| {
            // Under the account's lock, so that concurrent calls count each
            // other's passwords.
            if !conn.lock_session(new.by, new.at).await? {
                return Ok(CredentialStoreOutcome::Gone);
            }

            let own_passwords = app_passwords::table.filter(app_passwords::user_id.eq(row.user_id));
            if own_passwords.count().get_result::<i64>(conn).await? >= max {
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

            diesel::insert_into(app_passwords::table).values(&row).execute(conn).await?;
            conn.write_effects(&self.db, &effects).await?;

            Ok(CredentialStoreOutcome::Done)
        })
    }

    async fn list(&self, user: UserId) -> Result<Vec<AppPasswordEntry>, Unavailable> {
        let own_passwords = app_passwords::table
            .filter(app_passwords::user_id.eq(DbUid(user.0)))
            .order((app_passwords::created_at, app_passwords::id));
        let rows: Vec<ListRow> = on_conn!(self.db.reader(), |conn| {
            own_passwords.select(ListRow::as_select()).load(conn).await?
        })?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    async fn find(
        &self,
        user: UserId,
        hash: AppPasswordHash,
    ) -> Result<Option<AppPasswordId>, Unavailable> {
        let has_hash = app_passwords::hash.eq(hash.0.to_vec());
        let app_password = app_passwords::table
            .filter(has_hash.and(app_passwords::user_id.eq(DbUid(user.0))))
            .select(app_passwords::id);
        let id: Option<DbUid> =
            on_conn!(self.db.reader(), |conn| app_password.first(conn).await.optional()?)?;
        Ok(id.map(|it| AppPasswordId(it.0)))
    }

    async fn remove(
        &self,
        removal: AppPasswordRemoval,
        effects: RemovalEffects,
        if_ended: EndEffects,
    ) -> Result<bool, Unavailable> {
        let AppPasswordRemoval { user, id, at } = removal;
        let is_own = app_passwords::user_id.eq(DbUid(user.0));
        in_tx!(self.db, async |conn| {
            // The account's lock first, as at the start of sessions: a session
            // that starts concurrently is either deleted here or refused.
            conn.lock_account(user).await?;
            let name = app_passwords::table
                .find(DbUid(id.0))
                .filter(is_own)
                .select(app_passwords::name)
                .first::<String>(conn)
                .await
                .optional()?;
            let Some(name) = name else { return Ok(false) };

            let own_sessions = sessions::table.filter(sessions::app_password_id.eq(DbUid(id.0)));
            for _ in 0..diesel::delete(own_sessions).execute(conn).await? {
                conn.write_effects(&self.db, &if_ended(user, at)).await?;
            }

            diesel::delete(app_passwords::table.find(DbUid(id.0))).execute(conn).await?;
            conn.write_effects(&self.db, &effects(user, at, &name)).await?;

            Ok(true)
        })
    }
}

#[derive(Insertable)]
#[diesel(table_name = app_passwords)]
struct NewRow {
    id: DbUid,
    user_id: DbUid,
    name: String,
    hash: Vec<u8>,
    created_at: DbInstant,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = app_passwords)]
struct ListRow {
    id: DbUid,
    name: String,
    created_at: DbInstant,
    used_at: Option<DbInstant>,
}

impl From<&NewAppPassword> for NewRow {
    fn from(new: &NewAppPassword) -> Self {
        Self {
            id: DbUid(new.id.0),
            user_id: DbUid(new.by.user.0),
            name: new.name.clone(),
            hash: new.hash.0.to_vec(),
            created_at: DbInstant(new.at),
        }
    }
}

impl From<ListRow> for AppPasswordEntry {
    fn from(row: ListRow) -> Self {
        Self {
            id: AppPasswordId(row.id.0),
            name: row.name,
            created_at: row.created_at.0,
            used_at: row.used_at.map(|it| it.0),
        }
    }
}
