//! Passkeys in SQL.

use async_trait::async_trait;
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{
    FactorChange, NewPasskey, PasskeyChange, PasskeyCreationOutcome, PasskeyEntry, PasskeyStore,
    PasskeyUse, PasskeyUseOutcome, StoredPasskey,
};
use pia_kernel::{PasskeyId, SideEffects, Unavailable, UserId};
use pia_storage::schema::{accounts, passkeys};
use pia_storage::{Database, DbInstant, DbUid, WriteEffects, in_tx, on_conn};

use crate::factor_writes::FactorWrites;

/// Adapter of `PasskeyStore` over the table `passkeys`.
///
/// Each change first locks its account's row, so that changes of one account
/// are serialised, and no session starts unnoticed while the others are ended.
#[derive(Debug, Clone)]
pub struct SqlPasskeys {
    db: Database,
}

impl SqlPasskeys {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl PasskeyStore for SqlPasskeys {
    async fn add(
        &self,
        change: FactorChange,
        new: NewPasskey,
        max: usize,
    ) -> Result<PasskeyCreationOutcome, Unavailable> {
        let user = DbUid(change.user.0);
        let at = DbInstant(change.at);
        let row = NewRow {
            id: DbUid(new.id.0),
            user_id: user,
            credential_id: new.credential.id.clone(),
            name: new.name.clone(),
            credential: new.credential.key.clone(),
            counter: new.credential.counter.into(),
            created_at: at,
        };

        let max = i64::try_from(max).unwrap_or(i64::MAX);
        in_tx!(self.db, async |conn| {
            if !conn.lock_session(change.session_ref(), change.at).await? {
                return Ok(PasskeyCreationOutcome::SessionOver);
            }

            let own_passkeys = passkeys::table.filter(passkeys::user_id.eq(user));
            if own_passkeys.count().get_result::<i64>(conn).await? >= max {
                return Ok(PasskeyCreationOutcome::Full);
            }

            let inserted_rows = diesel::insert_into(passkeys::table)
                .values(&row)
                .on_conflict_do_nothing()
                .execute(conn)
                .await?;
            if inserted_rows == 0 {
                return Ok(PasskeyCreationOutcome::Known);
            }

            conn.end_other_sessions(&self.db, &change).await?;

            Ok(PasskeyCreationOutcome::Stored)
        })
    }

    async fn of_user(&self, user: UserId) -> Result<Vec<PasskeyEntry>, Unavailable> {
        let own_passkeys = passkeys::table
            .filter(passkeys::user_id.eq(DbUid(user.0)))
            .order((passkeys::created_at, passkeys::id));
        let rows: Vec<EntryRow> = on_conn!(self.db.reader(), |conn| {
            own_passkeys.select(EntryRow::as_select()).load(conn).await?
        })?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    async fn find(&self, credential: &[u8]) -> Result<Option<StoredPasskey>, Unavailable> {
        let active_accounts = accounts::table.filter(accounts::deactivated_at.is_null());
        let passkey = passkeys::table
            .filter(passkeys::credential_id.eq(credential))
            .filter(passkeys::user_id.eq_any(active_accounts.select(accounts::id)));
        let row: Option<PasskeyRow> = on_conn!(self.db.reader(), |conn| {
            passkey.select(PasskeyRow::as_select()).first(conn).await.optional()?
        })?;
        Ok(row.map(Into::into))
    }

    async fn remove(&self, change: FactorChange, id: PasskeyId) -> Result<bool, Unavailable> {
        let user = DbUid(change.user.0);
        in_tx!(self.db, async |conn| {
            if !conn.lock_session(change.session_ref(), change.at).await? {
                return Ok(false);
            }
            let own_passkey = passkeys::table.find(DbUid(id.0)).filter(passkeys::user_id.eq(user));
            if diesel::delete(own_passkey).execute(conn).await? == 0 {
                return Ok(false);
            }
            conn.end_other_sessions(&self.db, &change).await?;
            Ok(true)
        })
    }

    async fn change(
        &self,
        user: UserId,
        id: PasskeyId,
        change: PasskeyChange,
        if_unblocked: SideEffects,
    ) -> Result<bool, Unavailable> {
        use passkeys::{blocked_at, counter, name};

        let own_passkey =
            passkeys::table.find(DbUid(id.0)).filter(passkeys::user_id.eq(DbUid(user.0)));
        in_tx!(self.db, async |conn| {
            if !conn.lock_account(user).await? {
                return Ok(false);
            }
            if let Some(new_name) = &change.name {
                diesel::update(own_passkey).set(name.eq(new_name)).execute(conn).await?;
            }
            if change.unblock {
                // Any next counter is accepted after zero.
                let unblocked_rows = diesel::update(own_passkey.filter(blocked_at.is_not_null()))
                    .set((blocked_at.eq(None::<DbInstant>), counter.eq(0)))
                    .execute(conn)
                    .await?;
                if unblocked_rows == 1 {
                    conn.write_effects(&self.db, &if_unblocked).await?;
                }
            }
            Ok(diesel::select(exists(own_passkey)).get_result(conn).await?)
        })
    }

    async fn record_use(&self, passkey_use: PasskeyUse) -> Result<PasskeyUseOutcome, Unavailable> {
        use passkeys::{blocked_at, counter, used_at};

        let new_counter = i64::from(passkey_use.counter);
        let passkey = passkeys::table
            .find(DbUid(passkey_use.id.0))
            .filter(passkeys::user_id.eq(DbUid(passkey_use.user.0)));
        let unblocked_passkey = passkey.filter(blocked_at.is_null());

        // A counter that is not supported stays at zero.
        let has_advanced = counter.lt(new_counter).or(counter.eq(0).and(counter.eq(new_counter)));

        in_tx!(self.db, async |conn| {
            if !conn.lock_account(passkey_use.user).await? {
                return Ok(PasskeyUseOutcome::Gone);
            }

            let recorded_rows = diesel::update(unblocked_passkey.filter(has_advanced))
                .set((counter.eq(new_counter), used_at.eq(DbInstant(passkey_use.at))))
                .execute(conn)
                .await?;
            if recorded_rows == 1 {
                conn.write_effects(&self.db, &passkey_use.effects).await?;
                return Ok(PasskeyUseOutcome::Recorded);
            }
            if !diesel::select(exists(passkey)).get_result::<bool>(conn).await? {
                return Ok(PasskeyUseOutcome::Gone);
            }

            // It is blocked already, or its counter has not advanced, as if it had been cloned.
            let blocked_rows = diesel::update(unblocked_passkey)
                .set(blocked_at.eq(DbInstant(passkey_use.at)))
                .execute(conn)
                .await?;
            if blocked_rows == 0 {
                return Ok(PasskeyUseOutcome::Blocked);
            }
            conn.write_effects(&self.db, &passkey_use.if_rolled_back).await?;
            Ok(PasskeyUseOutcome::RolledBack)
        })
    }
}

#[derive(Insertable)]
#[diesel(table_name = passkeys)]
struct NewRow {
    id: DbUid,
    user_id: DbUid,
    credential_id: Vec<u8>,
    name: String,
    credential: String,
    counter: i64,
    created_at: DbInstant,
}

/// Columns that the verification of a response needs.
#[derive(Queryable, Selectable)]
#[diesel(table_name = passkeys)]
struct PasskeyRow {
    id: DbUid,
    user_id: DbUid,
    name: String,
    credential: String,
}

impl From<PasskeyRow> for StoredPasskey {
    fn from(row: PasskeyRow) -> Self {
        Self {
            id: PasskeyId(row.id.0),
            user: UserId(row.user_id.0),
            name: row.name,
            key: row.credential,
        }
    }
}

/// Columns of the list of passkeys.
#[derive(Queryable, Selectable)]
#[diesel(table_name = passkeys)]
struct EntryRow {
    id: DbUid,
    credential_id: Vec<u8>,
    name: String,
    created_at: DbInstant,
    used_at: Option<DbInstant>,
    blocked_at: Option<DbInstant>,
}

impl From<EntryRow> for PasskeyEntry {
    fn from(row: EntryRow) -> Self {
        Self {
            id: PasskeyId(row.id.0),
            name: row.name,
            created_at: row.created_at.0,
            used_at: row.used_at.map(|it| it.0),
            blocked_at: row.blocked_at.map(|it| it.0),
            credential: row.credential_id,
        }
    }
}
