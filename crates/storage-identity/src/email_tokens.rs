//! Tokens that are sent by email, in SQL.
//!
//! `pretend` must cost as much as `put` with an email: change both together.

use async_trait::async_trait;
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel::result::DatabaseErrorKind::UniqueViolation;
use diesel::result::Error::DatabaseError;
use diesel_async::RunQueryDsl;
use pia_identity::{
    AddressChange, AddressChangeOutcome, EmailTokenPurpose, EmailTokenStore, NewEmailToken,
    TokenHash, fold_email,
};
use pia_kernel::{QueuedEmail, SideEffects, Timestamp, Unavailable, UserId};
use pia_storage::schema::mailed_tokens::{self as tokens, expires_at, purpose, user_id};
use pia_storage::schema::{accounts, mails};
use pia_storage::{
    Database, DbError, DbInstant, DbUid, WriteEffects, connection_trait, in_tx, on_conn,
};

use crate::addresses::with_address;
use crate::admins::Admins;
use crate::factor_writes::FactorWrites;
use crate::password_writes::PasswordWrites;
use crate::registering::TokenRow;

/// Maximum number of a user's earlier tokens for one purpose that stay valid beside
/// a new one.
const MAX_OLDER_TOKENS: i64 = 2;

/// Number of rows of an email and its audit entry; a decoy writes as many.
const ROWS_PER_EMAIL: usize = 4;

/// Name of an email that is never sent: it is deleted before it becomes visible.
const DECOY: &str = "decoy";

/// Maximum number of tokens that one statement deletes, so that none holds its locks
/// for long.
const SWEPT_AT_ONCE: i64 = 500;

/// Adapter of `EmailTokenStore` over the table `mailed_tokens`.
///
/// Each change first locks its account's row, so that changes of one account
/// are serialised.
#[derive(Debug, Clone)]
pub struct SqlEmailTokens {
    db: Database,
}

impl SqlEmailTokens {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    async fn delete_expired_batch(&self, now: Timestamp) -> Result<usize, DbError> {
        let batch = tokens::table
            .filter(expires_at.le(DbInstant(now)))
            .select(tokens::hash)
            .limit(SWEPT_AT_ONCE);
        on_conn!(self.db.writer(), |conn| {
            let hashes: Vec<Vec<u8>> = batch.load(conn).await?;
            let expired_tokens = tokens::table.filter(tokens::hash.eq_any(hashes));
            diesel::delete(expired_tokens).execute(conn).await?
        })
    }
}

#[async_trait]
impl EmailTokenStore for SqlEmailTokens {
    async fn put(
        &self,
        user: UserId,
        token: Option<NewEmailToken>,
        effects: SideEffects,
    ) -> Result<(), Unavailable> {
        in_tx!(self.db, async |conn| {
            if !conn.lock_account(user).await? {
                return Ok(());
            }
            if let Some(token) = &token {
                conn.put_token(user, token).await?;
            }
            conn.write_effects(&self.db, &effects).await
        })
    }

    async fn pretend(&self, at: Timestamp) -> Result<(), Unavailable> {
        // Inserts the same number of rows and deletes them: both paths end with
        // a commit of similar size, where a mere query would return sooner.
        let missing_user = UserId::generate();
        let emails = (0..ROWS_PER_EMAIL).map(|_| QueuedEmail::new(DECOY).to_address(at, DECOY));
        let effects = emails.fold(SideEffects::default(), SideEffects::and_mail);
        in_tx!(self.db, async |conn| {
            conn.lock_account(missing_user).await?;
            conn.write_effects(&self.db, &effects).await?;
            let decoys = mails::table.filter(mails::user_id.is_null().and(mails::letter.eq(DECOY)));
            diesel::delete(decoys).execute(conn).await?;
            Ok(())
        })
    }

    async fn owner(
        &self,
        token: TokenHash,
        wanted: EmailTokenPurpose,
        now: Timestamp,
    ) -> Result<Option<UserId>, Unavailable> {
        let is_valid = purpose.eq(wanted.name()).and(expires_at.gt(DbInstant(now)));
        let active_accounts = accounts::table.filter(accounts::deactivated_at.is_null());
        let valid_token = tokens::table
            .find(token.0.to_vec())
            .filter(is_valid.and(user_id.eq_any(active_accounts.select(accounts::id))))
            .select(user_id);
        let owner: Option<DbUid> =
            on_conn!(self.db.reader(), |conn| valid_token.first(conn).await.optional()?)?;
        Ok(owner.map(|it| UserId(it.0)))
    }

    async fn verify(
        &self,
        user: UserId,
        token: TokenHash,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<bool, Unavailable> {
        let owner = DbUid(user.0);
        let is_same_kind =
            user_id.eq(owner).and(purpose.eq(EmailTokenPurpose::Verification.name()));
        in_tx!(self.db, async |conn| {
            if !conn.lock_account(user).await? {
                return Ok(false);
            }

            let is_valid = is_same_kind.and(expires_at.gt(DbInstant(at)));
            let valid_token = tokens::table.find(token.0.to_vec()).filter(is_valid);
            if diesel::delete(valid_token).execute(conn).await? == 0 {
                return Ok(false);
            }

            diesel::delete(tokens::table.filter(is_same_kind)).execute(conn).await?;
            conn.verify_address(user, at).await?;
            conn.write_effects(&self.db, &effects).await?;

            Ok(true)
        })
    }

    async fn change_address(
        &self,
        change: AddressChange,
    ) -> Result<AddressChangeOutcome, Unavailable> {
        let AddressChange { user, token, email, at, effects } = change;
        let id = DbUid(user.0);
        let folded_email = fold_email(&email);
        let outcome = in_tx!(self.db, async |conn| -> Result<AddressChangeOutcome, DbError> {
            conn.take_turn().await?;
            if !conn.lock_account(user).await? {
                return Ok(AddressChangeOutcome::InvalidToken);
            }

            let own_tokens = tokens::table.filter(user_id.eq(id));
            let valid_token = own_tokens
                .filter(tokens::hash.eq(token.0.to_vec()))
                .filter(purpose.eq(EmailTokenPurpose::AddressChange.name()))
                .filter(expires_at.gt(DbInstant(at)));
            if !diesel::select(exists(valid_token)).get_result::<bool>(conn).await? {
                return Ok(AddressChangeOutcome::InvalidToken);
            }

            let other_accounts = with_address(&email).filter(accounts::id.ne(id));
            if diesel::select(exists(other_accounts)).get_result::<bool>(conn).await? {
                return Ok(AddressChangeOutcome::Taken);
            }

            // Links to the previous address may be in another's hands by now.
            diesel::delete(own_tokens).execute(conn).await?;
            let new_address = (
                accounts::email.eq(&email),
                accounts::email_folded.eq(&folded_email),
                accounts::email_verified_at.eq(DbInstant(at)),
            );
            diesel::update(accounts::table.find(id)).set(new_address).execute(conn).await?;
            conn.write_effects(&self.db, &effects).await?;

            Ok(AddressChangeOutcome::Changed)
        });

        match outcome {
            // A SCIM client took the address meanwhile.
            Err(DbError::Query(DatabaseError(UniqueViolation, _))) => {
                Ok(AddressChangeOutcome::Taken)
            }
            outcome => Ok(outcome?),
        }
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

connection_trait! {
    /// Connection that can store tokens. Call the method inside a transaction, under the
    /// account's lock.
    trait PutToken {
        /// Stores a token. Of the user's older ones for its purpose, the last
        /// `MAX_OLDER_TOKENS` stay valid.
        async fn put_token(&mut self, user: UserId, token: &NewEmailToken) -> QueryResult<()> {
            let is_same_kind = user_id.eq(DbUid(user.0)).and(purpose.eq(token.purpose.name()));
            let surplus_hashes: Vec<Vec<u8>> = tokens::table
                .filter(is_same_kind)
                .order((expires_at.desc(), tokens::hash))
                .offset(MAX_OLDER_TOKENS)
                .select(tokens::hash)
                .load(self)
                .await?;
            let surplus_tokens = tokens::table.filter(tokens::hash.eq_any(surplus_hashes));
            diesel::delete(surplus_tokens).execute(self).await?;

            let row = TokenRow::from_token(user, token);
            diesel::insert_into(tokens::table).values(row).execute(self).await?;
            Ok(())
        }
    }
}
