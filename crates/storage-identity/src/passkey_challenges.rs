//! Pending challenges of authenticators, in SQL.
//!
//! A challenge with a user is of a registration, one without of a sign-in.

use async_trait::async_trait;
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{
    NewPasskeyChallenge, PasskeyAuthorization, PasskeyChallenges, TokenHash, VerifiedProof,
};
use pia_kernel::{Secret, SideEffects, Timestamp, Unavailable, UserId};
use pia_storage::schema::{passkey_challenges as challenges, sessions};
use pia_storage::{Database, DbError, DbInstant, DbUid, WriteEffects, in_tx, on_conn};

use crate::factor_writes::FactorWrites;

/// Adapter of `PasskeyChallenges` over the table `passkey_challenges`.
#[derive(Debug, Clone)]
pub struct SqlPasskeyChallenges {
    db: Database,
}

impl SqlPasskeyChallenges {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    /// Consumes the challenge: its token allows one attempt, successful or not.
    async fn take(
        &self,
        user: Option<UserId>,
        hash: TokenHash,
        now: Timestamp,
    ) -> Result<Option<Secret<String>>, DbError> {
        let open_challenge = challenges::table
            .find(hash.0.to_vec())
            .filter(challenges::expires_at.gt(DbInstant(now)));
        let deletion =
            diesel::delete(open_challenge).returning((challenges::user_id, challenges::state));
        let row: Option<(Option<DbUid>, String)> =
            on_conn!(self.db.writer(), |conn| deletion.get_result(conn).await.optional()?)?;
        let Some((owner, state)) = row else { return Ok(None) };

        // A challenge of another user, or of the other kind, is consumed as well.
        let is_own = owner.map(|it| UserId(it.0)) == user;
        Ok(is_own.then(|| Secret::new(state)))
    }
}

#[async_trait]
impl PasskeyChallenges for SqlPasskeyChallenges {
    async fn open_registration(
        &self,
        user: UserId,
        authorization: PasskeyAuthorization,
        challenge: NewPasskeyChallenge,
        effects: SideEffects,
    ) -> Result<bool, Unavailable> {
        in_tx!(self.db, async |conn| {
            if !conn.lock_account(user).await? {
                return Ok(false);
            }

            let is_valid = match authorization {
                // Just verified, and not consumed by that.
                PasskeyAuthorization::Evidence(VerifiedProof::Password) => true,
                PasskeyAuthorization::Evidence(verified) => {
                    conn.consume_proof(user, verified).await?
                }
                PasskeyAuthorization::NewSession { session, since } => {
                    let new_session = sessions::table
                        .find(DbUid(session.0))
                        .filter(sessions::user_id.eq(DbUid(user.0)))
                        .filter(sessions::began_at.ge(DbInstant(since)));
                    diesel::select(exists(new_session)).get_result::<bool>(conn).await?
                }
            };

            if !is_valid {
                return Ok(false);
            }

            let row = NewRow::from_challenge(&challenge, Some(user));
            diesel::insert_into(challenges::table).values(row).execute(conn).await?;
            conn.write_effects(&self.db, &effects).await?;

            Ok(true)
        })
    }

    async fn open_sign_in(&self, challenge: NewPasskeyChallenge) -> Result<(), Unavailable> {
        let row = NewRow::from_challenge(&challenge, None);
        let insertion = diesel::insert_into(challenges::table).values(row);
        on_conn!(self.db.writer(), |conn| insertion.execute(conn).await?)?;
        Ok(())
    }

    async fn take_registration(
        &self,
        user: UserId,
        hash: TokenHash,
        now: Timestamp,
    ) -> Result<Option<Secret<String>>, Unavailable> {
        Ok(self.take(Some(user), hash, now).await?)
    }

    async fn take_sign_in(
        &self,
        hash: TokenHash,
        now: Timestamp,
    ) -> Result<Option<Secret<String>>, Unavailable> {
        Ok(self.take(None, hash, now).await?)
    }

    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable> {
        let deletion =
            diesel::delete(challenges::table.filter(challenges::expires_at.le(DbInstant(now))));
        Ok(on_conn!(self.db.writer(), |conn| deletion.execute(conn).await?)? as u64)
    }
}

#[derive(Insertable)]
#[diesel(table_name = challenges)]
struct NewRow {
    hash: Vec<u8>,
    user_id: Option<DbUid>,
    state: String,
    expires_at: DbInstant,
}

impl NewRow {
    fn from_challenge(challenge: &NewPasskeyChallenge, user: Option<UserId>) -> Self {
        Self {
            hash: challenge.hash.0.to_vec(),
            user_id: user.map(|it| DbUid(it.0)),
            state: challenge.state.expose().clone(),
            expires_at: DbInstant(challenge.expires_at),
        }
    }
}
