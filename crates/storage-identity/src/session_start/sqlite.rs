//! Start of a session on SQLite.

use diesel::dsl::exists;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use pia_identity::{NewSession, SessionStartOutcome, SignInOutcome};
use pia_kernel::SessionId;
use pia_storage::schema::{app_passwords, refresh_tokens, sessions, sign_ins};
use pia_storage::{AsyncSqlite, Database, DbError, DbInstant, DbUid, WriteEffects};

use super::SessionStart;
use crate::factor_writes::FactorWrites;
use crate::session_rows::{NewRow, TokenRow};
use crate::sign_ins::SignInRow;

impl SessionStart {
    /// Stores the session in an open transaction. SQLite has one writer, so that
    /// no rows need to be locked.
    pub(super) async fn on_sqlite(
        &self,
        db: &Database,
        conn: &mut AsyncSqlite,
    ) -> Result<SessionStartOutcome, DbError> {
        let Self { new, effects, conditional_effects, .. } = self;
        let session = DbUid(new.session.0);
        let at = DbInstant(new.at);
        if !conn.lock_unchanged(new.user, new.epoch).await? {
            return Ok(SessionStartOutcome::Stale);
        }

        if let Some(id) = new.app_password {
            let updated_rows = diesel::update(app_passwords::table.find(DbUid(id.0)))
                .set(app_passwords::used_at.eq(at))
                .execute(conn)
                .await?;
            if updated_rows == 0 {
                return Ok(SessionStartOutcome::Stale);
            }
        }

        let on_new_device = is_new_device(conn, new).await?;
        let row = NewRow::from(new);
        let sign_in = SignInRow::from(new);
        diesel::insert_into(sessions::table).values(&row).execute(conn).await?;
        let token = TokenRow::unspent(new.hash, session);
        diesel::insert_into(refresh_tokens::table).values(token).execute(conn).await?;
        diesel::insert_into(sign_ins::table).values(&sign_in).execute(conn).await?;
        conn.write_effects(db, effects).await?;

        if on_new_device {
            conn.write_effects(db, &(conditional_effects.if_new_device)(new.user, new.at)).await?;
        }

        for ended in surplus(conn, new, self.max()).await? {
            diesel::delete(sessions::table.find(ended)).execute(conn).await?;
            conn.write_effects(db, &(conditional_effects.if_ended)(new.user, new.at)).await?;
        }

        Ok(SessionStartOutcome::Done)
    }
}

/// Returns the sessions to be ended for the limit.
///
/// Sessions of app passwords are ended first, so that a program that signs in
/// repeatedly does not end the sessions of its owner; but the new
/// one stays.
async fn surplus(conn: &mut AsyncSqlite, new: &NewSession, max: i64) -> QueryResult<Vec<DbUid>> {
    // The new session, if an app password started it; otherwise an id that no row
    // has.
    let first = new.app_password.map_or_else(SessionId::generate, |_| new.session);
    let of_user = sessions::user_id.eq(DbUid(new.user.0));
    let of_kind = of_user.and(sessions::console.eq(new.browser.is_some()));
    let is_live = of_kind.and(sessions::expires_at.gt(DbInstant(new.at)));
    sessions::table
        .filter(is_live)
        .order((
            sessions::id.eq(DbUid(first.0)).desc(),
            sessions::app_password_id.is_null().desc(),
            sessions::began_at.desc(),
            sessions::id.desc(),
        ))
        .offset(max)
        .select(sessions::id)
        .load(conn)
        .await
}

/// Returns whether the account was signed in to before, and never on this
/// device.
///
/// Devices are identified by their own ids; if one of two has none, they
/// are the same if the same program called from the same
/// network.
async fn is_new_device(conn: &mut AsyncSqlite, new: &NewSession) -> QueryResult<bool> {
    use sign_ins::{device_id, network, outcome, user_agent, user_id};

    let signed_in = outcome.eq(SignInOutcome::SignedIn.name());
    let earlier_sign_ins = sign_ins::table.filter(user_id.eq(DbUid(new.user.0)).and(signed_in));
    if !diesel::select(exists(earlier_sign_ins)).get_result::<bool>(conn).await? {
        return Ok(false);
    }

    let device = &new.device;
    // Values are also the same if both are NULL.
    let sql_bool = |it: bool| it.into_sql::<Bool>();
    let from = device.network().map(|it| it.to_string());
    let same_agent = user_agent
        .eq(device.user_agent.as_deref())
        .or(user_agent.is_null().and(sql_bool(device.user_agent.is_none())));
    let same_network =
        network.eq(from.as_deref()).or(network.is_null().and(sql_bool(from.is_none())));
    let an_id_is_missing = device_id.is_null().or(sql_bool(device.device_id.is_none()));
    let same_device = device_id
        .eq(device.device_id.as_deref())
        .or(an_id_is_missing.and(same_agent).and(same_network));
    let is_known = exists(earlier_sign_ins.filter(same_device));

    Ok(!diesel::select(is_known).get_result::<bool>(conn).await?)
}
