//! Statements shared by changes of second factors.
//!
//! A change of credentials begins with `lock_account`, or with `lock_session`
//! if the caller's session must still be live; `consume_proof` follows where
//! a proof is required; `end_others` comes last. That increments the
//! account's epoch, so that `lock_unchanged` refuses a session of a sign-in
//! that loaded the account before.

use diesel::dsl::exists;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{
    CredentialsEpoch, EndEffects, FactorChange, RecoveryHash, SessionRef, VerifiedProof,
};
use pia_kernel::{Timestamp, UserId};
use pia_storage::schema::{accounts, recovery_codes, sessions, totp_factors};
use pia_storage::{Database, DbError, DbInstant, DbUid, WriteEffects, connection_trait, lock_row};

connection_trait! {
    /// Connection that changes second factors. Call each method inside a transaction.
    pub(crate) trait FactorWrites {
        /// Locks an account until the commit, which serialises its changes. Returns
        /// whether it exists and is active.
        async fn lock_account(&mut self, user: UserId) -> QueryResult<bool> {
            let is_active = accounts::deactivated_at.is_null();
            let active_account = accounts::table.find(DbUid(user.0)).filter(is_active);
            Ok(lock_row!(self, active_account, accounts::provider))
        }

        /// Locks the account, and returns whether its credentials are still of this
        /// epoch.
        async fn lock_unchanged(
            &mut self,
            user: UserId,
            epoch: CredentialsEpoch,
        ) -> QueryResult<bool> {
            let unchanged_account = accounts::table
                .find(DbUid(user.0))
                .filter(accounts::credentials_epoch.eq(epoch.0))
                .filter(accounts::deactivated_at.is_null());
            Ok(lock_row!(self, unchanged_account, accounts::provider))
        }

        /// Locks the caller's account until the commit. Returns whether it exists
        /// and is active, and the caller's session is still live: a session that
        /// ended since it was checked changes nothing any more.
        async fn lock_session(&mut self, session_ref: SessionRef, at: Timestamp) -> QueryResult<bool> {
            if !self.lock_account(session_ref.user).await? {
                return Ok(false);
            }
            let of_user = sessions::user_id.eq(DbUid(session_ref.user.0));
            let is_own_unexpired = of_user.and(sessions::expires_at.gt(DbInstant(at)));
            let live_session =
                sessions::table.find(DbUid(session_ref.session.0)).filter(is_own_unexpired);
            diesel::select(exists(live_session)).get_result(self).await
        }

        /// Consumes a proof, if the account's factor is on. Returns whether it was
        /// valid.
        async fn consume_proof(&mut self, user: UserId, verified: VerifiedProof) -> QueryResult<bool> {
            use totp_factors::{enabled_at, last_step};

            let user_id = DbUid(user.0);
            let enabled_factor = totp_factors::table.find(user_id).filter(enabled_at.is_not_null());
            match verified {
                VerifiedProof::Password | VerifiedProof::SignIn => {
                    // Nothing is consumed: a password can be used again.
                    Ok(lock_row!(self, enabled_factor, last_step))
                }
                VerifiedProof::Code(step) => {
                    // Each code is valid once: its step becomes the last one used.
                    let unused_step = enabled_factor.filter(last_step.lt(step.0));
                    let updated_rows = diesel::update(unused_step)
                        .set(last_step.eq(step.0))
                        .execute(self)
                        .await?;
                    Ok(updated_rows == 1)
                }
                VerifiedProof::RecoveryCode(hash) => {
                    // Codes exist only while a factor is on.
                    let code = recovery_codes::table.find((user_id, hash.0.to_vec()));
                    Ok(diesel::delete(code).execute(self).await? == 1)
                }
            }
        }

        /// Replaces all recovery codes of a user with `codes`.
        async fn replace_recovery_codes(
            &mut self,
            user: UserId,
            codes: &[RecoveryHash],
        ) -> QueryResult<()> {
            let user_id = DbUid(user.0);
            let previous_codes = recovery_codes::table.filter(recovery_codes::user_id.eq(user_id));
            diesel::delete(previous_codes).execute(self).await?;

            for code in codes {
                let row = (
                    recovery_codes::user_id.eq(user_id),
                    recovery_codes::hash.eq(code.0.to_vec()),
                );
                diesel::insert_into(recovery_codes::table).values(row).execute(self).await?;
            }

            Ok(())
        }

        /// Ends the other sessions, and writes the change's side effects.
        async fn end_other_sessions(
            &mut self,
            db: &Database,
            change: &FactorChange,
        ) -> Result<(), DbError> {
            let FactorChange { user, session, at, effects, if_ended } = change;
            self.write_effects(db, effects).await?;
            let session_ref = SessionRef { user: *user, session: *session };
            self.end_others(db, session_ref, *at, *if_ended).await
        }

        /// Ends all other sessions of a user, those that are about to start
        /// included.
        async fn end_others(
            &mut self,
            db: &Database,
            session_ref: SessionRef,
            at: Timestamp,
            if_ended: EndEffects,
        ) -> Result<(), DbError> {
            let SessionRef { user, session: own_session } = session_ref;
            let epoch = accounts::credentials_epoch;
            diesel::update(accounts::table.find(DbUid(user.0)))
                .set(epoch.eq(epoch + 1))
                .execute(self)
                .await?;

            let of_user = sessions::user_id.eq(DbUid(user.0));
            let is_other = sessions::id.ne(DbUid(own_session.0));
            let other_sessions = sessions::table.filter(of_user.and(is_other));
            for _ in 0..diesel::delete(other_sessions).execute(self).await? {
                self.write_effects(db, &if_ended(user, at)).await?;
            }

            Ok(())
        }
    }
}
