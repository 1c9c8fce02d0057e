//! Rotation of refresh tokens in SQL.
//!
//! `SqlSessions::rotate` calls `extend_session`, which locks the session,
//! then `spend`, and for a token that was spent before `is_retry`. A spent
//! token that is no retry is a replay.

use diesel::dsl::exists;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::PresentedToken;
use pia_kernel::{SessionId, UserId};
use pia_storage::schema::{accounts, refresh_tokens, sessions};
use pia_storage::{DbError, DbInstant, DbUid, connection_trait};

use crate::session_rows::{ContinuedRow, TokenRow};

connection_trait! {
    /// Steps of a rotation, each within its transaction.
    pub(crate) trait RotateTokens {
        /// Extends the session of a token, unless it has expired, or its account is
        /// deactivated. Returns the session and its user.
        ///
        /// It locks the session's row, so that what follows is serialised for the
        /// session: otherwise, on PostgreSQL, a replay deleting the session could
        /// deadlock with a rotation inserting a successor.
        async fn extend_session(
            &mut self,
            token: &PresentedToken,
        ) -> Result<Option<(UserId, SessionId)>, DbError> {
            let owner_session = refresh_tokens::table
                .find(token.hash.0.to_vec())
                .select(refresh_tokens::session_id);
            let active_accounts = accounts::table.filter(accounts::deactivated_at.is_null());
            let is_unexpired = sessions::expires_at.gt(DbInstant(token.at));
            let extended_session = diesel::update(sessions::table)
                .filter(sessions::id.eq_any(owner_session).and(is_unexpired))
                .filter(sessions::user_id.eq_any(active_accounts.select(accounts::id)))
                .set(ContinuedRow::from(token))
                .returning((sessions::user_id, sessions::id))
                .get_result::<(DbUid, DbUid)>(self)
                .await
                .optional()?;

            Ok(extended_session.map(|(user, session)| (UserId(user.0), SessionId(session.0))))
        }

        /// Spends a token, stores its successor, and deletes tokens that were spent
        /// long ago. Returns false if the token was spent before.
        async fn spend(
            &mut self,
            token: &PresentedToken,
            session: SessionId,
        ) -> Result<bool, DbError> {
            let session_id = DbUid(session.0);
            let unspent_token = refresh_tokens::table
                .find(token.hash.0.to_vec())
                .filter(refresh_tokens::spent_at.is_null());
            let spent_rows = diesel::update(unspent_token)
                .set(refresh_tokens::spent_at.eq(DbInstant(token.at)))
                .execute(self)
                .await?;
            if spent_rows == 0 {
                return Ok(false);
            }

            let row = TokenRow::unspent(token.successor, session_id);
            diesel::insert_into(refresh_tokens::table).values(row).execute(self).await?;
            let outdated_tokens = refresh_tokens::table
                .filter(refresh_tokens::spent_at.lt(DbInstant(token.at - token.lifetime)))
                .filter(refresh_tokens::session_id.eq(session_id));
            diesel::delete(outdated_tokens).execute(self).await?;

            Ok(true)
        }

        /// Returns whether a device presents a spent token again because it missed the
        /// response.
        async fn is_retry(
            &mut self,
            token: &PresentedToken,
            session: SessionId,
        ) -> Result<bool, DbError> {
            let since = DbInstant(token.at - token.grace);
            let spent_within_grace = refresh_tokens::table
                .find(token.hash.0.to_vec())
                .filter(refresh_tokens::spent_at.ge(since));
            let of_session = refresh_tokens::session_id.eq(DbUid(session.0));
            let successor = refresh_tokens::table
                .find(token.successor.0.to_vec())
                .filter(refresh_tokens::spent_at.is_null().and(of_session));
            let is_retry = exists(spent_within_grace).and(exists(successor));

            Ok(diesel::select(is_retry).get_result::<bool>(self).await?)
        }
    }
}
