//! Second factors in SQL.
//!
//! A row of `totp_factors` without `enabled_at` is an enrolment that waits
//! for its first code; only one with it protects the account.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::query_dsl::methods;
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;
use pia_identity::{
    EnrolmentOutcome, Factor, FactorChange, FactorState, FactorStore, RecoveryHash, SessionRef,
    Step, VerifiedProof,
};
use pia_kernel::{SideEffects, Timestamp, Unavailable, UserId};
use pia_storage::schema::{factor_challenges, recovery_codes, totp_factors};
use pia_storage::{Database, DbInstant, DbUid, WriteEffects, in_tx, on_conn};

use crate::factor_writes::FactorWrites;

/// Step before that of any code.
const NO_STEP: i64 = -1;

/// Adapter of `FactorStore` over `totp_factors` and `recovery_codes`.
///
/// Each change first locks its account's row, so that changes of one account
/// are serialised, and no session starts unnoticed while the others are ended.
#[derive(Debug, Clone)]
pub struct SqlFactors {
    db: Database,
}

impl SqlFactors {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl FactorStore for SqlFactors {
    async fn factor(&self, user: UserId) -> Result<Option<Factor>, Unavailable> {
        let columns = (totp_factors::secret, totp_factors::begun_at, totp_factors::enabled_at);
        let factor = totp_factors::table.find(DbUid(user.0)).select(columns);
        let row: Option<(Vec<u8>, DbInstant, Option<DbInstant>)> =
            on_conn!(self.db.reader(), |conn| factor.first(conn).await.optional()?)?;
        Ok(row.map(|(sealed, begun_at, enabled_at)| {
            let pending = FactorState::Pending { at: begun_at.0 };
            Factor { sealed, state: enabled_at.map_or(pending, |_| FactorState::On) }
        }))
    }

    async fn codes_left(&self, user: UserId) -> Result<u32, Unavailable> {
        let codes = recovery_codes::table.filter(recovery_codes::user_id.eq(DbUid(user.0)));
        let count: i64 = on_conn!(self.db.reader(), |conn| codes.count().get_result(conn).await?)?;
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    async fn begin(
        &self,
        user: UserId,
        sealed: &[u8],
        at: Timestamp,
    ) -> Result<EnrolmentOutcome, Unavailable> {
        use totp_factors::{begun_at, enabled_at, last_step, secret, user_id};

        let row = (
            user_id.eq(DbUid(user.0)),
            secret.eq(sealed),
            begun_at.eq(DbInstant(at)),
            last_step.eq(NO_STEP),
        );

        in_tx!(self.db, async |conn| {
            if !conn.lock_account(user).await? {
                return Ok(EnrolmentOutcome::Gone);
            }
            let upsert = diesel::insert_into(totp_factors::table)
                .values(row)
                .on_conflict(user_id)
                .do_update()
                .set((secret.eq(excluded(secret)), begun_at.eq(excluded(begun_at))));
            let unless_enabled = methods::FilterDsl::filter(upsert, enabled_at.is_null());
            let is_enrolled = unless_enabled.execute(conn).await? == 1;
            Ok(if is_enrolled { EnrolmentOutcome::Pending } else { EnrolmentOutcome::AlreadyOn })
        })
    }

    async fn enable(
        &self,
        change: FactorChange,
        sealed: &[u8],
        step: Step,
        codes: &[RecoveryHash],
    ) -> Result<bool, Unavailable> {
        use totp_factors::{enabled_at, last_step, secret};

        in_tx!(self.db, async |conn| {
            if !conn.lock_session(change.session_ref(), change.at).await? {
                return Ok(false);
            }
            let pending_factor = totp_factors::table
                .find(DbUid(change.user.0))
                .filter(secret.eq(sealed).and(enabled_at.is_null()));
            let enabled_columns = (enabled_at.eq(DbInstant(change.at)), last_step.eq(step.0));
            if diesel::update(pending_factor).set(enabled_columns).execute(conn).await? == 0 {
                return Ok(false);
            }
            conn.replace_recovery_codes(change.user, codes).await?;
            conn.end_other_sessions(&self.db, &change).await?;
            Ok(true)
        })
    }

    async fn disable(
        &self,
        change: FactorChange,
        verified: VerifiedProof,
    ) -> Result<bool, Unavailable> {
        in_tx!(self.db, async |conn| {
            if !conn.lock_session(change.session_ref(), change.at).await?
                || !conn.consume_proof(change.user, verified).await?
            {
                return Ok(false);
            }

            let user = DbUid(change.user.0);
            diesel::delete(totp_factors::table.find(user)).execute(conn).await?;
            conn.replace_recovery_codes(change.user, &[]).await?;
            let open_challenges =
                factor_challenges::table.filter(factor_challenges::user_id.eq(user));
            diesel::delete(open_challenges).execute(conn).await?;
            conn.end_other_sessions(&self.db, &change).await?;

            Ok(true)
        })
    }

    async fn replace_codes(
        &self,
        change: FactorChange,
        verified: VerifiedProof,
        codes: &[RecoveryHash],
    ) -> Result<bool, Unavailable> {
        in_tx!(self.db, async |conn| {
            if !conn.lock_session(change.session_ref(), change.at).await?
                || !conn.consume_proof(change.user, verified).await?
            {
                return Ok(false);
            }
            conn.replace_recovery_codes(change.user, codes).await?;
            conn.end_other_sessions(&self.db, &change).await?;
            Ok(true)
        })
    }

    async fn spend(
        &self,
        session_ref: SessionRef,
        verified: VerifiedProof,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<bool, Unavailable> {
        in_tx!(self.db, async |conn| {
            if !conn.lock_session(session_ref, at).await?
                || !conn.consume_proof(session_ref.user, verified).await?
            {
                return Ok(false);
            }
            conn.write_effects(&self.db, &effects).await?;
            Ok(true)
        })
    }

    async fn reseal(&self, user: UserId, old: &[u8], new: &[u8]) -> Result<(), Unavailable> {
        use totp_factors::secret;
        let unchanged_factor = totp_factors::table.find(DbUid(user.0)).filter(secret.eq(old));
        let update = diesel::update(unchanged_factor).set(secret.eq(new));
        on_conn!(self.db.writer(), |conn| update.execute(conn).await?)?;
        Ok(())
    }

    async fn sweep(&self, since: Timestamp) -> Result<u64, Unavailable> {
        let is_abandoned =
            totp_factors::enabled_at.is_null().and(totp_factors::begun_at.lt(DbInstant(since)));
        let factors = totp_factors::table.filter(is_abandoned);
        Ok(on_conn!(self.db.writer(), |conn| diesel::delete(factors).execute(conn).await?)? as u64)
    }
}
