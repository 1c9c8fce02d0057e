//! Sign-ins that wait for their second factor, in SQL.
//!
//! `attempt` counts by one guarded statement before the answer is verified.
//! `redeem` consumes the proof and the challenge under the account's lock.

use async_trait::async_trait;
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{
    ChallengeStore, NewChallenge, Redemption, RedemptionOutcome, SessionStartOutcome, TokenHash,
    VerifiedProof,
};
use pia_kernel::{Timestamp, Unavailable, UserId};
use pia_storage::schema::factor_challenges::{self as challenges, expires_at, tries, user_id};
use pia_storage::schema::{accounts, recovery_codes};
use pia_storage::{Database, DbInstant, DbUid, WriteEffects, in_tx, on_conn};

use crate::factor_writes::FactorWrites;

/// Adapter of `ChallengeStore` over the table `factor_challenges`.
#[derive(Debug, Clone)]
pub struct SqlChallenges {
    db: Database,
}

impl SqlChallenges {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl ChallengeStore for SqlChallenges {
    async fn open(&self, challenge: NewChallenge) -> Result<SessionStartOutcome, Unavailable> {
        let row = (
            challenges::hash.eq(challenge.hash.0.to_vec()),
            user_id.eq(DbUid(challenge.user.0)),
            expires_at.eq(DbInstant(challenge.expires_at)),
            tries.eq(0),
        );

        in_tx!(self.db, async |conn| {
            if !conn.lock_unchanged(challenge.user, challenge.epoch).await? {
                return Ok(SessionStartOutcome::Stale);
            }
            diesel::insert_into(challenges::table).values(&row).execute(conn).await?;
            Ok(SessionStartOutcome::Done)
        })
    }

    async fn owner(
        &self,
        hash: TokenHash,
        max: u32,
        now: Timestamp,
    ) -> Result<Option<UserId>, Unavailable> {
        let is_open = expires_at.gt(DbInstant(now)).and(tries.lt(to_i32(max)));
        let active_accounts = accounts::table.filter(accounts::deactivated_at.is_null());
        let challenge = challenges::table
            .find(hash.0.to_vec())
            .filter(is_open.and(user_id.eq_any(active_accounts.select(accounts::id))))
            .select(user_id);
        let owner: Option<DbUid> =
            on_conn!(self.db.reader(), |conn| challenge.first(conn).await.optional()?)?;
        Ok(owner.map(|it| UserId(it.0)))
    }

    async fn attempt(
        &self,
        hash: TokenHash,
        max: u32,
        now: Timestamp,
    ) -> Result<bool, Unavailable> {
        let is_open = expires_at.gt(DbInstant(now)).and(tries.lt(to_i32(max)));
        let open_challenge = challenges::table.find(hash.0.to_vec()).filter(is_open);
        let count_update = diesel::update(open_challenge).set(tries.eq(tries + 1));
        Ok(on_conn!(self.db.writer(), |conn| count_update.execute(conn).await? == 1)?)
    }

    async fn redeem(&self, redemption: Redemption) -> Result<RedemptionOutcome, Unavailable> {
        let Redemption { hash, user, verified, at, effects } = &redemption;
        in_tx!(self.db, async |conn| {
            // Challenges are redeemed and deleted only under the account's
            // lock, so this one does not change meanwhile.
            if !conn.lock_account(*user).await? {
                return Ok(RedemptionOutcome::Gone);
            }

            let is_open = user_id.eq(DbUid(user.0)).and(expires_at.gt(DbInstant(*at)));
            let open_challenge = challenges::table.find(hash.0.to_vec()).filter(is_open);
            if !diesel::select(exists(open_challenge)).get_result::<bool>(conn).await? {
                return Ok(RedemptionOutcome::Gone);
            }
            if !conn.consume_proof(*user, *verified).await? {
                return Ok(RedemptionOutcome::Stale);
            }

            diesel::delete(challenges::table.find(hash.0.to_vec())).execute(conn).await?;

            let codes_left = match verified {
                VerifiedProof::RecoveryCode(_) => {
                    let code_count = recovery_codes::table
                        .filter(recovery_codes::user_id.eq(DbUid(user.0)))
                        .count()
                        .get_result::<i64>(conn)
                        .await?;
                    u64::try_from(code_count).ok()
                }
                VerifiedProof::Password | VerifiedProof::SignIn | VerifiedProof::Code(_) => None,
            };
            conn.write_effects(&self.db, &effects(*user, *at, codes_left)).await?;

            Ok(RedemptionOutcome::Done)
        })
    }

    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable> {
        let deletion = diesel::delete(challenges::table.filter(expires_at.le(DbInstant(now))));
        Ok(on_conn!(self.db.writer(), |conn| deletion.execute(conn).await?)? as u64)
    }
}

fn to_i32(max: u32) -> i32 {
    i32::try_from(max).unwrap_or(i32::MAX)
}
