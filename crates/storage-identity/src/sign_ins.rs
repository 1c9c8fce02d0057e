//! Sign-in attempts in SQL.

use async_trait::async_trait;
use diesel::dsl::{exists, not};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{
    EndEffects, FailedSignIn, NewSession, SignInDevice, SignInEntry, SignInLog, SignInOutcome,
};
use pia_kernel::{Cursor, PageRequest, SessionId, SignInId, Timestamp, Unavailable, UserId};
use pia_storage::schema::{accounts, sign_ins};
use pia_storage::{Database, DbError, DbInstant, DbUid, WriteEffects, in_tx, on_conn};

/// Maximum number of attempts that one statement deletes, so that none holds its locks
/// for long.
const SWEPT_AT_ONCE: i64 = 500;

/// Adapter of `SignInLog` over the table `sign_ins`.
#[derive(Debug, Clone)]
pub struct SqlSignIns {
    db: Database,
}

impl SqlSignIns {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    async fn delete_old_batch(&self, time: Timestamp) -> Result<usize, DbError> {
        let batch = sign_ins::table
            .filter(sign_ins::at.lt(DbInstant(time)))
            .select(sign_ins::id)
            .limit(SWEPT_AT_ONCE);
        on_conn!(self.db.writer(), |conn| {
            let ids: Vec<DbUid> = batch.load(conn).await?;
            let old_sign_ins = sign_ins::table.filter(sign_ins::id.eq_any(ids));
            diesel::delete(old_sign_ins).execute(conn).await?
        })
    }
}

#[async_trait]
impl SignInLog for SqlSignIns {
    async fn record_failure(
        &self,
        attempt: FailedSignIn,
        effects: EndEffects,
    ) -> Result<(), Unavailable> {
        let row = SignInRow::from(attempt);
        in_tx!(self.db, async |conn| {
            // Inserted whether the account exists or not, and deleted
            // if it does not: both paths end with a commit of similar
            // size, where a mere query would return sooner.
            diesel::insert_into(sign_ins::table).values(&row).execute(conn).await?;
            let account = accounts::table.find(row.user_id);
            let without_account = sign_ins::table.find(row.id).filter(not(exists(account)));
            let taken_back = diesel::delete(without_account).execute(conn).await? == 1;

            // An account deleted meanwhile is not recorded again.
            let user = if taken_back { UserId::generate() } else { UserId(row.user_id.0) };
            conn.write_effects(&self.db, &effects(user, row.at.0)).await
        })
    }

    async fn page(&self, user: UserId, page: PageRequest) -> Result<Vec<SignInEntry>, Unavailable> {
        let after = page.after.unwrap_or_else(Cursor::top);
        let at = DbInstant(after.at);
        let id = DbUid(after.id);
        let is_after_cursor = sign_ins::at.le(at).and(sign_ins::at.lt(at).or(sign_ins::id.lt(id)));
        let entries = sign_ins::table
            .filter(sign_ins::user_id.eq(DbUid(user.0)).and(is_after_cursor))
            .order((sign_ins::at.desc(), sign_ins::id.desc()))
            .limit(page.limit.into());

        let rows: Vec<SignInRow> = on_conn!(self.db.reader(), |conn| {
            entries.select(SignInRow::as_select()).load(conn).await?
        })?;

        Ok(rows.into_iter().map(Into::into).collect())
    }

    async fn sweep(&self, time: Timestamp) -> Result<u64, Unavailable> {
        let mut total = 0;
        loop {
            let deleted_rows = self.delete_old_batch(time).await?;
            if deleted_rows == 0 {
                return Ok(total);
            }
            total += deleted_rows as u64;
        }
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = sign_ins, treat_none_as_default_value = false)]
pub(crate) struct SignInRow {
    id: DbUid,
    at: DbInstant,
    user_id: DbUid,
    outcome: String,
    method: String,
    address: Option<String>,
    device_id: Option<String>,
    app_version: Option<String>,
    os_version: Option<String>,
    user_agent: Option<String>,
    session_id: Option<DbUid>,
    network: Option<String>,
}

impl SignInRow {
    fn new(user: UserId, at: Timestamp, device: SignInDevice, outcome: &str, method: &str) -> Self {
        Self {
            id: DbUid(SignInId::generate().0),
            at: DbInstant(at),
            user_id: DbUid(user.0),
            outcome: outcome.to_owned(),
            method: method.to_owned(),
            address: device.address.map(|it| it.to_string()),
            network: device.network().map(|it| it.to_string()),
            device_id: device.device_id,
            app_version: device.app_version,
            os_version: device.os_version,
            user_agent: device.user_agent,
            session_id: None,
        }
    }
}

/// Converts the sign-in that a session starts with.
impl From<&NewSession> for SignInRow {
    fn from(new: &NewSession) -> Self {
        let outcome = SignInOutcome::SignedIn.name();
        let row = Self::new(new.user, new.at, new.device.clone(), outcome, new.method.name());
        Self { session_id: Some(DbUid(new.session.0)), ..row }
    }
}

impl From<FailedSignIn> for SignInRow {
    fn from(attempt: FailedSignIn) -> Self {
        // A fresh id belongs to no account.
        let user = attempt.user.unwrap_or_else(UserId::generate);
        let outcome = attempt.outcome.name();
        Self::new(user, attempt.at, attempt.device, outcome, attempt.method.name())
    }
}

impl From<SignInRow> for SignInEntry {
    fn from(row: SignInRow) -> Self {
        Self {
            id: SignInId(row.id.0),
            at: row.at.0,
            outcome: row.outcome,
            method: row.method,
            device: SignInDevice {
                device_id: row.device_id,
                app_version: row.app_version,
                os_version: row.os_version,
                user_agent: row.user_agent,
                address: row.address.and_then(|it| it.parse().ok()),
            },
            session: row.session_id.map(|it| SessionId(it.0)),
        }
    }
}
