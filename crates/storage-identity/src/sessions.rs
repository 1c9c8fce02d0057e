//! Sessions and their refresh tokens in SQL.
//!
//! A start is in `session_start.rs`; the steps of `rotate` are in
//! `token_rotation.rs`.

use std::time::Duration;

use async_trait::async_trait;
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{
    EndEffects, NewSession, PresentedToken, Revoked, RotationOutcome, SessionEntry, SessionRef,
    SessionStartEffects, SessionStartOutcome, SessionStore, TokenHash,
};
use pia_kernel::{Cursor, PageRequest, SessionId, SideEffects, Timestamp, Unavailable, UserId};
use pia_storage::schema::{accounts, refresh_tokens as tokens, sessions};
use pia_storage::{Database, DbError, DbInstant, DbUid, WriteEffects, in_tx, lock_row, on_conn};

use crate::session_rows::ListRow;
use crate::session_start::SessionStart;
use crate::token_rotation::RotateTokens;

/// Maximum number of sessions that one statement deletes, so that none holds its
/// locks for long.
const SWEPT_AT_ONCE: i64 = 500;

/// Adapter of `SessionStore` over `sessions` and `refresh_tokens`.
///
/// Consumed tokens are stored for the lifetime of an unused session, so that a
/// replay differs from an unknown token. Rotation deletes older ones: a
/// session refreshed every 15 minutes would leave 35,000 rows a year.
#[derive(Debug, Clone)]
pub struct SqlSessions {
    db: Database,
}

impl SqlSessions {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    async fn delete_expired_batch(&self, now: Timestamp) -> Result<usize, DbError> {
        let is_expired = sessions::expires_at.le(DbInstant(now));
        let batch = sessions::table.filter(is_expired).select(sessions::id).limit(SWEPT_AT_ONCE);
        on_conn!(self.db.writer(), |conn| {
            // Selected first and deleted by key, since one that is continued
            // in between must stay.
            let ids: Vec<DbUid> = batch.load(conn).await?;
            let still_expired = sessions::table.filter(sessions::id.eq_any(ids).and(is_expired));
            diesel::delete(still_expired).execute(conn).await?
        })
    }
}

#[async_trait]
impl SessionStore for SqlSessions {
    async fn begin(
        &self,
        session: NewSession,
        max: usize,
        effects: SideEffects,
        conditional_effects: SessionStartEffects,
    ) -> Result<SessionStartOutcome, Unavailable> {
        let start = SessionStart { new: session, max, effects, conditional_effects };
        Ok(start.store(&self.db).await?)
    }

    async fn extend_console(
        &self,
        session: SessionRef,
        used_at: Timestamp,
        expires_at: Timestamp,
    ) -> Result<(), Unavailable> {
        let minute_ago = DbInstant(used_at - Duration::from_mins(1));
        let is_idle_console = sessions::used_at.le(minute_ago).and(sessions::console);
        let is_unexpired = sessions::expires_at.gt(DbInstant(used_at));
        let own_sessions = sessions::table
            .find(DbUid(session.session.0))
            .filter(sessions::user_id.eq(DbUid(session.user.0)))
            .filter(is_idle_console.and(is_unexpired));

        let extended_columns = (
            sessions::used_at.eq(DbInstant(used_at)),
            sessions::expires_at.eq(DbInstant(expires_at)),
        );
        let update = diesel::update(own_sessions).set(extended_columns);
        on_conn!(self.db.writer(), |conn| update.execute(conn).await?)?;

        Ok(())
    }

    async fn rotate(
        &self,
        token: PresentedToken,
        if_reused: EndEffects,
    ) -> Result<RotationOutcome, Unavailable> {
        in_tx!(self.db, async |conn| {
            let Some((user, session)) = conn.extend_session(&token).await? else {
                return Ok(RotationOutcome::Refused);
            };
            if conn.spend(&token, session).await? || conn.is_retry(&token, session).await? {
                return Ok(RotationOutcome::Rotated { user, session });
            }

            // Anything else is a replay: the session ends.
            diesel::delete(sessions::table.find(DbUid(session.0))).execute(conn).await?;
            conn.write_effects(&self.db, &if_reused(user, token.at)).await?;

            Ok(RotationOutcome::Reused)
        })
    }

    async fn session_of(&self, token: TokenHash) -> Result<Option<SessionId>, Unavailable> {
        let session = tokens::table.find(token.0.to_vec()).select(tokens::session_id);
        let id: Option<DbUid> =
            on_conn!(self.db.reader(), |conn| session.first(conn).await.optional()?)?;
        Ok(id.map(|it| SessionId(it.0)))
    }

    async fn end(
        &self,
        token: TokenHash,
        at: Timestamp,
        effects: EndEffects,
    ) -> Result<Option<SessionRef>, Unavailable> {
        let hash = token.0.to_vec();
        in_tx!(self.db, async |conn| {
            let owner_session = tokens::table.find(&hash).select(tokens::session_id);
            let ended_session =
                diesel::delete(sessions::table.filter(sessions::id.eq_any(owner_session)))
                    .returning((sessions::user_id, sessions::id))
                    .get_result::<(DbUid, DbUid)>(conn)
                    .await
                    .optional()?;

            let Some((user, session)) = ended_session else { return Ok(None) };
            let ended = SessionRef { user: UserId(user.0), session: SessionId(session.0) };

            conn.write_effects(&self.db, &effects(ended.user, at)).await?;

            Ok(Some(ended))
        })
    }

    async fn page(
        &self,
        user: UserId,
        now: Timestamp,
        page: PageRequest,
    ) -> Result<Vec<SessionEntry>, Unavailable> {
        let after = page.after.unwrap_or_else(Cursor::top);
        let at = DbInstant(after.at);
        let id = DbUid(after.id);
        let began = sessions::began_at;
        let is_after_cursor = began.le(at).and(began.lt(at).or(sessions::id.lt(id)));
        let is_own_unexpired =
            sessions::user_id.eq(DbUid(user.0)).and(sessions::expires_at.gt(DbInstant(now)));
        let entries = sessions::table
            .filter(is_own_unexpired.and(is_after_cursor))
            .order((began.desc(), sessions::id.desc()))
            .limit(page.limit.into());

        let rows: Vec<ListRow> = on_conn!(self.db.reader(), |conn| {
            entries.select(ListRow::as_select()).load(conn).await?
        })?;

        Ok(rows.into_iter().map(Into::into).collect())
    }

    async fn revoke(
        &self,
        by: SessionRef,
        revoked: Revoked,
        now: Timestamp,
        effects: EndEffects,
    ) -> Result<Option<u64>, Unavailable> {
        let user = DbUid(by.user.0);
        let own_id = DbUid(by.session.0);
        let is_own_unexpired =
            sessions::user_id.eq(user).and(sessions::expires_at.gt(DbInstant(now)));
        in_tx!(self.db, async |conn| {
            // Session starts lock the account too. Sessions started earlier are
            // therefore visible, and of two sessions that revoke each other only the
            // first succeeds.
            lock_row!(conn, accounts::table.find(user), accounts::provider);

            let own_session = sessions::table.find(own_id).filter(is_own_unexpired);
            if !diesel::select(exists(own_session)).get_result::<bool>(conn).await? {
                return Ok(None);
            }

            let ended_count = match revoked {
                Revoked::One(session) => {
                    let chosen_session =
                        sessions::table.find(DbUid(session.0)).filter(is_own_unexpired);
                    diesel::delete(chosen_session).execute(conn).await?
                }
                Revoked::Others => {
                    let other_sessions =
                        sessions::table.filter(sessions::id.ne(own_id).and(is_own_unexpired));
                    diesel::delete(other_sessions).execute(conn).await?
                }
            };
            for _ in 0..ended_count {
                conn.write_effects(&self.db, &effects(by.user, now)).await?;
            }

            Ok(Some(ended_count as u64))
        })
    }

    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable> {
        let mut total = 0;
        loop {
            let deleted_rows = self.delete_expired_batch(now).await?;
            if deleted_rows == 0 {
                return Ok(total);
            }
            total += deleted_rows as u64;
        }
    }
}
