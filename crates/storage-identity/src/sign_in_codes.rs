//! One-time codes in SQL.
//!
//! A row is issued, then burned by its redemption (`burned_at`), then settled
//! with the session that it started. The redemption of a burned row is a
//! replay.

use async_trait::async_trait;
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{
    CodeChallenge, CodeRedemptionOutcome, NewSignInCode, ReplayEffects, SessionStartOutcome,
    SignInCodes, TokenHash,
};
use pia_kernel::{SessionId, Timestamp, Unavailable, UserId};
use pia_storage::schema::{accounts, sessions, sign_in_codes};
use pia_storage::{Database, DbInstant, DbUid, WriteEffects, in_tx, lock_row, on_conn};

use crate::factor_writes::FactorWrites;

/// Adapter of `SignInCodes` over the table `sign_in_codes`.
///
/// A redeemed code is stored with the session that it started, until it expires
/// or is presented again. A refused one is deleted, and so is one that
/// was presented again: neither can be used any more.
#[derive(Debug, Clone)]
pub struct SqlSignInCodes {
    db: Database,
}

impl SqlSignInCodes {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl SignInCodes for SqlSignInCodes {
    async fn put(&self, new: NewSignInCode) -> Result<SessionStartOutcome, Unavailable> {
        let row = (
            sign_in_codes::hash.eq(new.hash.0.to_vec()),
            sign_in_codes::user_id.eq(DbUid(new.user.0)),
            sign_in_codes::challenge.eq(new.challenge.0.to_vec()),
            sign_in_codes::expires_at.eq(DbInstant(new.expires_at)),
        );

        in_tx!(self.db, async |conn| {
            if !conn.lock_account(new.user).await? {
                return Ok(SessionStartOutcome::Stale);
            }
            diesel::insert_into(sign_in_codes::table).values(&row).execute(conn).await?;
            Ok(SessionStartOutcome::Done)
        })
    }

    async fn redeem(
        &self,
        hash: TokenHash,
        challenge: Option<CodeChallenge>,
        at: Timestamp,
        if_replayed: ReplayEffects,
    ) -> Result<CodeRedemptionOutcome, Unavailable> {
        let hash = hash.0.to_vec();
        in_tx!(self.db, async |conn| {
            // The code's row is locked by the first statement, so that what
            // follows is serialised for the code, settling included.
            let code_row: Option<CodeRow> = lock_row!(
                conn,
                sign_in_codes::table.find(&hash),
                sign_in_codes::expires_at,
                CodeRow::as_returning(),
            );
            let Some(code) = code_row else { return Ok(CodeRedemptionOutcome::Refused) };
            let user = UserId(code.user_id.0);

            let active_account =
                accounts::table.find(code.user_id).filter(accounts::deactivated_at.is_null());
            if code.is_redeemable(challenge, at)
                && diesel::select(exists(active_account)).get_result::<bool>(conn).await?
            {
                diesel::update(sign_in_codes::table.find(&hash))
                    .set(sign_in_codes::burned_at.eq(DbInstant(at)))
                    .execute(conn)
                    .await?;
                return Ok(CodeRedemptionOutcome::Redeemed(user));
            }

            // Otherwise the code is deleted. If it was redeemed before, its session ends.

            diesel::delete(sign_in_codes::table.find(&hash)).execute(conn).await?;
            if code.burned_at.is_none() {
                return Ok(CodeRedemptionOutcome::Refused);
            }
            if let Some(session) = code.session_id {
                diesel::delete(sessions::table.find(session)).execute(conn).await?;
            }
            conn.write_effects(&self.db, &if_replayed(user, at)).await?;

            Ok(CodeRedemptionOutcome::Replayed(user))
        })
    }

    async fn settle(&self, hash: TokenHash, session: SessionId) -> Result<bool, Unavailable> {
        let burned_code = sign_in_codes::table
            .find(hash.0.to_vec())
            .filter(sign_in_codes::burned_at.is_not_null());
        let session_update =
            diesel::update(burned_code).set(sign_in_codes::session_id.eq(DbUid(session.0)));
        Ok(on_conn!(self.db.writer(), |conn| session_update.execute(conn).await? == 1)?)
    }

    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable> {
        let deletion = diesel::delete(
            sign_in_codes::table.filter(sign_in_codes::expires_at.le(DbInstant(now))),
        );
        Ok(on_conn!(self.db.writer(), |conn| deletion.execute(conn).await?)? as u64)
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = sign_in_codes)]
struct CodeRow {
    user_id: DbUid,
    challenge: Vec<u8>,
    expires_at: DbInstant,
    /// Time of the redemption.
    burned_at: Option<DbInstant>,
    /// Session that the redeemed code started.
    session_id: Option<DbUid>,
}

impl CodeRow {
    /// Returns whether the code may start a session now, if its account is active.
    fn is_redeemable(&self, challenge: Option<CodeChallenge>, at: Timestamp) -> bool {
        let is_answered = challenge.is_some_and(|it| it.0[..] == self.challenge[..]);
        is_answered && self.burned_at.is_none() && self.expires_at.0 > at
    }
}
