//! The beginning of a session, and what is written with it.

use diesel::dsl::exists;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use pia_identity::{BeginEffects, Begun, NewSession, SignInOutcome};
use pia_kernel::{Effects, SessionId};
use pia_storage::schema::{app_passwords, refresh_tokens, sessions, sign_ins};
use pia_storage::{
    AsyncPostgres, AsyncSqlite, Database, DbError, DbInstant, DbUid, WriteEffects, in_tx,
};

use crate::factor_writes::FactorWrites;
use crate::session_rows::{NewRow, TokenRow};
use crate::sign_ins::SignInRow;

/// Stores a session and the sign-in that it begins with, if that is still good.
pub(crate) async fn begin(
    db: &Database,
    new: NewSession,
    most: usize,
    effects: Effects,
    others: BeginEffects,
) -> Result<Begun, DbError> {
    let (session, user, at) = (DbUid(new.session.0), DbUid(new.user.0), DbInstant(new.at));
    let most = i64::try_from(most.max(1)).unwrap_or(i64::MAX);
    let (row, sign_in) = (NewRow::from(&new), SignInRow::from(&new));
    in_tx!(db, async |conn| -> Result<Begun, DbError> {
        // The account's row is locked by the first statement, so that sessions
        // of one user begin one after another: otherwise each would count
        // without the others.
        if !conn.lock_unchanged(new.user, new.epoch).await? {
            return Ok(Begun::Stale);
        }
        if let Some(id) = new.app_password {
            let used = diesel::update(app_passwords::table.find(DbUid(id.0)));
            if used.set(app_passwords::used_at.eq(at)).execute(conn).await? == 0 {
                return Ok(Begun::Stale);
            }
        }
        let on_new_device = conn.is_new_device(&new).await?;
        diesel::insert_into(sessions::table).values(&row).execute(conn).await?;
        let token = TokenRow::unspent(new.hash, session);
        diesel::insert_into(refresh_tokens::table).values(token).execute(conn).await?;
        diesel::insert_into(sign_ins::table).values(&sign_in).execute(conn).await?;
        conn.write_effects(db, &effects).await?;
        if on_new_device {
            conn.write_effects(db, &(others.if_new_device)(new.user, new.at)).await?;
        }

        // Those of app passwords make room first, so that a program that signs
        // in again and again does not end the sessions of its owner; but the
        // one that just begins stays.
        let first = new.app_password.map_or_else(SessionId::generate, |_| new.session);
        let live = sessions::user_id.eq(user).and(sessions::expires_at.gt(at));
        let surplus: Vec<DbUid> = sessions::table
            .filter(live)
            .order((
                sessions::id.eq(DbUid(first.0)).desc(),
                sessions::app_password_id.is_null().desc(),
                sessions::began_at.desc(),
                sessions::id.desc(),
            ))
            .offset(most)
            .select(sessions::id)
            .load(conn)
            .await?;
        for ended in surplus {
            diesel::delete(sessions::table.find(ended)).execute(conn).await?;
            conn.write_effects(db, &(others.if_ended)(new.user, new.at)).await?;
        }
        Ok(Begun::Done)
    })
}

/// A connection that can tell new devices.
trait KnowsDevices {
    /// Whether the account was signed in to before, and never on this device.
    ///
    /// Devices are told apart by the ids that they give themselves; where one
    /// of two has none, they are the same if the same program called from the
    /// same network.
    fn is_new_device(&mut self, new: &NewSession)
    -> impl Future<Output = QueryResult<bool>> + Send;
}

/// A function generic over connections would have to name the type of every
/// query in its bounds, so the one body is compiled twice, as in `on_conn!`.
macro_rules! knows_devices {
    ($($conn:ty),*) => {$(
        impl KnowsDevices for $conn {
            async fn is_new_device(&mut self, new: &NewSession) -> QueryResult<bool> {
                use sign_ins::{device_id, network, outcome, user_agent, user_id};
                let signed_in = outcome.eq(SignInOutcome::SignedIn.name());
                let before = sign_ins::table.filter(user_id.eq(DbUid(new.user.0)).and(signed_in));
                if !diesel::select(exists(before)).get_result::<bool>(self).await? {
                    return Ok(false);
                }
                let device = &new.device;
                let yes = |it: bool| it.into_sql::<Bool>();
                let from = device.network().map(|it| it.to_string());
                let same_agent = user_agent
                    .eq(device.user_agent.as_deref())
                    .or(user_agent.is_null().and(yes(device.user_agent.is_none())));
                let same_network =
                    network.eq(from.as_deref()).or(network.is_null().and(yes(from.is_none())));
                let an_id_is_missing =
                    device_id.is_null().or(yes(device.device_id.is_none()));
                let same = device_id
                    .eq(device.device_id.as_deref())
                    .or(an_id_is_missing.and(same_agent).and(same_network));
                let known = exists(before.filter(same));
                Ok(!diesel::select(known).get_result::<bool>(self).await?)
            }
        }
    )*};
}

knows_devices!(AsyncSqlite, AsyncPostgres);
