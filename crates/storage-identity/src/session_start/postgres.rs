//! Start of a session on PostgreSQL, in two round trips: the first locks and reads what
//! it depends on, the second writes everything in one statement, and the transaction
//! begins and ends in them.

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{Array, BigInt, Bool, Nullable, Text};
use diesel_async::RunQueryDsl;
use diesel_async::pooled_connection::deadpool::Object;
use futures_util::join;
use pia_identity::{NewSession, SessionStartOutcome, SignInOutcome};
use pia_kernel::SessionId;
use pia_storage::schema::{accounts, app_passwords, refresh_tokens, sessions, sign_ins};
use pia_storage::{
    AsyncPostgres, CteBatch, Database, DbError, DbInstant, DbUid, Instant, Pipelined, Uid,
    WriteEffects,
};

use super::SessionStart;
use crate::session_rows::{NewRow, TokenRow};
use crate::sign_ins::SignInRow;

/// State before the session starts.
struct SessionStartState {
    on_new_device: bool,
    /// Sessions to be ended for the limit; the new one may be among them.
    surplus: Vec<DbUid>,
}

impl SessionStart {
    /// Tries once to store the session, on a connection of its own.
    pub(super) async fn on_postgres(
        &self,
        db: &Database,
        conn: Object<AsyncPostgres>,
    ) -> Result<SessionStartOutcome, DbError> {
        let mut conn = Pipelined::new(conn);
        let outcome = self.load_and_write(db, &mut conn).await;

        let is_committed = matches!(outcome, Ok(SessionStartOutcome::Done));
        if !is_committed && let Err(err) = conn.roll_back().await {
            // A connection that is not released is closed.
            return outcome.and(Err(err.into()));
        }

        conn.release();
        outcome
    }

    /// Starts a transaction, and commits it only if the session is stored.
    async fn load_and_write(
        &self,
        db: &Database,
        conn: &mut Pipelined,
    ) -> Result<SessionStartOutcome, DbError> {
        let Some(state) = self.load_state(conn).await? else {
            return Ok(SessionStartOutcome::Stale);
        };
        self.write(db, conn, state).await?;
        Ok(SessionStartOutcome::Done)
    }

    /// Begins, and reads the state; `None` if the credentials have changed.
    ///
    /// The account's row is locked first, so that session starts of one user
    /// are serialised: otherwise each would count without the others.
    async fn load_state(&self, conn: &Pipelined) -> QueryResult<Option<SessionStartState>> {
        let shared = conn.shared()?;
        let (began, unchanged, used, state) = join!(
            conn.begin(),
            lock_unchanged(shared, &self.new),
            use_app_password(shared, &self.new),
            SessionStartQuery::from_start(self).run(shared),
        );
        began?;
        let is_valid = unchanged? && used?;
        let state = state?;
        Ok(is_valid.then_some(state))
    }

    /// Writes everything, and commits.
    async fn write(
        &self,
        db: &Database,
        conn: &mut Pipelined,
        state: SessionStartState,
    ) -> Result<(), DbError> {
        let Self { new, conditional_effects, .. } = self;
        let mut effects = self.effects.clone();
        if state.on_new_device {
            effects = effects.and((conditional_effects.if_new_device)(new.user, new.at));
        }
        for _ in &state.surplus {
            effects = effects.and((conditional_effects.if_ended)(new.user, new.at));
        }
        let effects = conn.alone()?.effect_rows(db, &effects).await?;

        let session = DbUid(new.session.0);
        let row = NewRow::from(new);
        let sign_in = SignInRow::from(new);
        let mut writes = CteBatch::new();
        if !state.surplus.contains(&session) {
            let token = TokenRow::unspent(new.hash, session);
            writes.add(diesel::insert_into(sessions::table).values(&row));
            writes.add(diesel::insert_into(refresh_tokens::table).values(token));
        }
        writes.add(diesel::insert_into(sign_ins::table).values(&sign_in));
        effects.join(&mut writes);
        if !state.surplus.is_empty() {
            let is_surplus = sessions::id.eq_any(&state.surplus);
            writes.add(diesel::delete(sessions::table.filter(is_surplus)));
        }
        let (written, committed) = join!(writes.write(conn.shared()?), conn.commit());
        written?;
        Ok(committed?)
    }
}

/// Locks the account until the commit. Returns whether it exists and is active, and
/// its credentials are unchanged.
async fn lock_unchanged(mut conn: &AsyncPostgres, new: &NewSession) -> QueryResult<bool> {
    let is_unchanged = accounts::credentials_epoch.eq(new.epoch.0);
    let is_active = accounts::deactivated_at.is_null();
    let account = accounts::table.find(DbUid(new.user.0)).filter(is_unchanged.and(is_active));
    let lock = account.select(accounts::id).for_no_key_update();
    Ok(lock.execute(&mut conn).await? == 1)
}

/// Records the use of the app password that the session starts with, if any. Returns
/// false if it was deleted.
async fn use_app_password(mut conn: &AsyncPostgres, new: &NewSession) -> QueryResult<bool> {
    let Some(id) = new.app_password else { return Ok(true) };
    let updated_rows = diesel::update(app_passwords::table.find(DbUid(id.0)))
        .set(app_passwords::used_at.eq(DbInstant(new.at)))
        .execute(&mut conn)
        .await?;
    Ok(updated_rows == 1)
}

/// Query of whether the device is new, and which sessions exceed the limit once this
/// one is added.
///
/// A device is new if the account was signed in to before, and never on it.
/// Devices are identified by their own ids; if one of two has none, they
/// are the same if the same program called from the same
/// network.
///
/// Sessions of app passwords are ended first, so that a program that signs in
/// repeatedly does not end the sessions of its owner; but if this one is
/// of an app password, it stays.
struct SessionStartQuery {
    user: DbUid,
    at: DbInstant,
    session: DbUid,
    app_password: Option<DbUid>,
    stays: DbUid,
    console: bool,
    max: i64,
    device_id: Option<String>,
    user_agent: Option<String>,
    network: Option<String>,
}

impl SessionStartQuery {
    fn from_start(start: &SessionStart) -> Self {
        let NewSession { user, at, session, app_password, device, .. } = &start.new;
        let stays = app_password.map_or_else(SessionId::generate, |_| *session);
        Self {
            user: DbUid(user.0),
            at: DbInstant(*at),
            session: DbUid(session.0),
            app_password: app_password.map(|it| DbUid(it.0)),
            stays: DbUid(stays.0),
            console: start.new.browser.is_some(),
            max: start.max(),
            device_id: device.device_id.clone(),
            user_agent: device.user_agent.clone(),
            network: device.network().map(|it| it.to_string()),
        }
    }

    async fn run(self, mut conn: &AsyncPostgres) -> QueryResult<SessionStartState> {
        let (on_new_device, surplus) = self.get_result(&mut conn).await?;
        Ok(SessionStartState { on_new_device, surplus })
    }

    fn signed_in<'b>(&'b self, out: &mut AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("EXISTS (SELECT 1 FROM sign_ins WHERE user_id = ");
        out.push_bind_param::<Uid, _>(&self.user)?;
        out.push_sql(" AND outcome = '");
        out.push_sql(SignInOutcome::SignedIn.name());
        out.push_sql("'");
        Ok(())
    }

    fn same_device<'b>(&'b self, out: &mut AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("device_id = ");
        out.push_bind_param::<Nullable<Text>, _>(&self.device_id)?;
        out.push_sql(" OR (device_id IS NULL OR ");
        out.push_bind_param::<Nullable<Text>, _>(&self.device_id)?;
        out.push_sql(" IS NULL) AND user_agent IS NOT DISTINCT FROM ");
        out.push_bind_param::<Nullable<Text>, _>(&self.user_agent)?;
        out.push_sql(" AND network IS NOT DISTINCT FROM ");
        out.push_bind_param::<Nullable<Text>, _>(&self.network)?;
        Ok(())
    }

    /// Selects the live sessions, with the new one.
    fn live<'b>(&'b self, out: &mut AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("SELECT id, app_password_id, began_at FROM sessions WHERE user_id = ");
        out.push_bind_param::<Uid, _>(&self.user)?;
        out.push_sql(" AND console = ");
        out.push_bind_param::<Bool, _>(&self.console)?;
        out.push_sql(" AND expires_at > ");
        out.push_bind_param::<Instant, _>(&self.at)?;
        out.push_sql(" UNION ALL SELECT ");
        out.push_bind_param::<Uid, _>(&self.session)?;
        out.push_sql(", ");
        out.push_bind_param::<Nullable<Uid>, _>(&self.app_password)?;
        out.push_sql(", ");
        out.push_bind_param::<Instant, _>(&self.at)?;

        Ok(())
    }
}

impl QueryFragment<Pg> for SessionStartQuery {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("SELECT ");
        self.signed_in(&mut out)?;
        out.push_sql(") AND NOT ");
        self.signed_in(&mut out)?;
        out.push_sql(" AND (");
        self.same_device(&mut out)?;
        out.push_sql(")), ARRAY(SELECT id FROM (");
        self.live(&mut out)?;
        out.push_sql(") AS live ORDER BY id = ");
        out.push_bind_param::<Uid, _>(&self.stays)?;
        out.push_sql(" DESC, app_password_id IS NULL DESC, began_at DESC, id DESC OFFSET ");
        out.push_bind_param::<BigInt, _>(&self.max)?;
        out.push_sql(")");

        Ok(())
    }
}

impl Query for SessionStartQuery {
    type SqlType = (Bool, Array<Uid>);
}

impl QueryId for SessionStartQuery {
    type QueryId = Self;
    const HAS_STATIC_QUERY_ID: bool = true;
}
