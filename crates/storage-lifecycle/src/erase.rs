//! Erasure of accounts, in SQL.
//!
//! `erase` is one transaction, which is tried again after a conflict: locks in the
//! order of `docs/ARCHITECTURE.md`, checks under them, `forget` (`forgetting.rs`), and
//! the side effects. The first attempt does not lock the number of accounts; if the
//! account turns out to be an administrator's, a second attempt does. Afterwards
//! SQLite's log is truncated, and `settle` retries that.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use diesel::dsl::{exists, not};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{Role, SignInOutcome};
use pia_kernel::{
    AccountErasure, Eraser, ErasureOutcome, RequestContext, SideEffects, Unavailable,
    UnverifiedAccounts, UserId,
};
use pia_storage::schema::{accounts, locks, sessions, sign_ins};
use pia_storage::{
    Database, DbError, DbInstant, DbUid, WriteEffects, connection_trait, in_tx, lock_row, on_conn,
};

use crate::forgetting::EraseRows;

/// Row of `locks` that serialises changes of the number of accounts or
/// administrators.
const ACCOUNT_COUNT: &str = "accounts";

/// Maximum number of retries of an erasure that lost a conflict.
const MAX_RETRIES: u32 = 10;

/// Number of unverified accounts that are loaded at once.
const BATCH: i64 = 100;

/// Condition for accounts that were never verified and never used.
macro_rules! is_unverified {
    ($selection:expr) => {{
        let creation = &$selection.made;
        let of_account = sign_ins::user_id.eq(accounts::id);
        let signed_in = sign_ins::outcome.eq(SignInOutcome::SignedIn.name());
        let was_used = exists(sign_ins::table.filter(of_account.and(signed_in)));
        let in_use = exists(sessions::table.filter(sessions::user_id.eq(accounts::id)));
        accounts::created_at
            .ge(DbInstant(creation.start))
            .and(accounts::created_at.lt(DbInstant(creation.end)))
            .and(accounts::email_verified_at.is_null())
            .and(accounts::deactivated_at.is_null())
            .and(accounts::role.eq(Role::User.name()))
            .and(not(was_used))
            .and(not(in_use))
    }};
}

/// Eraser of accounts, in SQL.
///
/// Rows that refer to an account are deleted with it; others are named here.
#[derive(Debug, Clone)]
pub struct SqlEraser {
    db: Database,
    /// True if the database's log may hold deleted data, also from before the
    /// start.
    needs_truncation: Arc<AtomicBool>,
}

impl SqlEraser {
    /// Creates an eraser for `db`.
    pub fn new(db: Database) -> Self {
        Self { db, needs_truncation: Arc::new(AtomicBool::new(true)) }
    }

    /// Tries once to erase an account, under the locks of `scope`.
    async fn try_erase(
        &self,
        erasure: &AccountErasure,
        scope: LockScope,
    ) -> Result<ErasureAttempt, DbError> {
        let emails = SideEffects { audit: Vec::new(), mail: erasure.effects.mail.clone() };
        let entries = SideEffects { audit: erasure.effects.audit.clone(), mail: Vec::new() };
        // The entries must not identify the user by an address or a user agent.
        let anonymous_context = RequestContext {
            request: RequestContext::current().request,
            ..RequestContext::default()
        };

        in_tx!(self.db, async |conn| -> Result<ErasureAttempt, DbError> {
            conn.bound_lock_waits().await?;
            if scope == LockScope::AccountCount {
                conn.lock_account_count().await?;
            }
            conn.hold_writers(erasure.user).await?;

            let Some(account) = conn.lock_account(erasure.user).await? else {
                return Ok(ErasureAttempt::Finished(ErasureOutcome::Gone));
            };
            let has_session = conn.has_live_session(erasure).await?;
            if account.deactivated_at.is_some() || !has_session {
                return Ok(ErasureAttempt::Finished(ErasureOutcome::SessionOver));
            }

            if account.role == Role::Admin.name() {
                if scope == LockScope::Account {
                    return Ok(ErasureAttempt::NeedsAccountCount);
                }
                if conn.is_last_admin(erasure.user).await? {
                    return Ok(ErasureAttempt::Finished(ErasureOutcome::LastAdmin));
                }
            }

            conn.forget(erasure.user, &account.email_folded).await?;
            conn.write_effects(&self.db, &emails).await?;
            anonymous_context.clone().scope(conn.write_effects(&self.db, &entries)).await?;

            Ok(ErasureAttempt::Finished(ErasureOutcome::Erased))
        })
    }

    /// Loads a batch of unverified accounts. Each is checked again before its erasure.
    async fn load_unverified(
        &self,
        selection: &UnverifiedAccounts,
    ) -> Result<Vec<UserId>, DbError> {
        let candidates = accounts::table
            .filter(is_unverified!(selection))
            .select(accounts::id)
            .order(accounts::created_at)
            .limit(BATCH);
        let ids: Vec<DbUid> = on_conn!(self.db.reader(), |conn| candidates.load(conn).await?)?;
        Ok(ids.into_iter().map(|it| UserId(it.0)).collect())
    }

    /// Erases an account if it is still unverified. Returns whether it was.
    async fn erase_if_unverified(
        &self,
        user: UserId,
        selection: &UnverifiedAccounts,
    ) -> Result<bool, DbError> {
        let entries = (selection.effects)(selection.at);
        in_tx!(self.db, async |conn| -> Result<bool, DbError> {
            conn.bound_lock_waits().await?;
            conn.hold_writers(user).await?;
            // Locked, so that it is neither verified nor signed in to meanwhile.
            if !lock_row!(conn, accounts::table.find(DbUid(user.0)), accounts::provider) {
                return Ok(false);
            }

            let email = accounts::table
                .find(DbUid(user.0))
                .filter(is_unverified!(selection))
                .select(accounts::email_folded)
                .first::<String>(conn)
                .await
                .optional()?;
            let Some(email) = email else { return Ok(false) };

            conn.forget(user, &email).await?;
            conn.write_effects(&self.db, &entries).await?;

            Ok(true)
        })
    }

    /// Truncates the database's log after an erasure.
    async fn mark_and_truncate(&self) {
        self.needs_truncation.store(true, Ordering::Release);
        // The rows are deleted; a failure to truncate the file is retried by `settle`.
        drop(self.truncate().await);
    }

    /// Truncates the database's log. Returns false if it has to be retried.
    async fn truncate(&self) -> Result<bool, Unavailable> {
        // Reset first: an erasure meanwhile requires another truncation.
        self.needs_truncation.store(false, Ordering::Release);
        let is_truncated = self.db.truncate_log().await;
        if !matches!(is_truncated, Ok(true)) {
            self.needs_truncation.store(true, Ordering::Release);
        }
        Ok(is_truncated?)
    }
}

#[async_trait]
impl Eraser for SqlEraser {
    async fn erase(&self, erasure: AccountErasure) -> Result<ErasureOutcome, Unavailable> {
        let mut retries = 0;
        let mut scope = LockScope::Account;
        let outcome = loop {
            match self.try_erase(&erasure, scope).await {
                Ok(ErasureAttempt::Finished(outcome)) => break outcome,
                Ok(ErasureAttempt::NeedsAccountCount) => scope = LockScope::AccountCount,
                Err(err) if err.is_conflict() && retries < MAX_RETRIES => retries += 1,
                Err(err) => return Err(err.into()),
            }
        };

        if outcome == ErasureOutcome::Erased {
            self.mark_and_truncate().await;
        }

        Ok(outcome)
    }

    async fn erase_unverified(&self, accounts: UnverifiedAccounts) -> Result<u64, Unavailable> {
        let mut total = 0;
        loop {
            let mut erased = 0;
            for user in self.load_unverified(&accounts).await? {
                erased += u64::from(self.erase_if_unverified(user, &accounts).await?);
            }
            // Accounts of a batch without an erasure are in use by now.
            if erased == 0 {
                break;
            }
            total += erased;
        }

        if total > 0 {
            self.mark_and_truncate().await;
        }

        Ok(total)
    }

    async fn settle(&self) -> Result<bool, Unavailable> {
        if AtomicBool::load(&self.needs_truncation, Ordering::Acquire) {
            self.truncate().await
        } else {
            Ok(true)
        }
    }
}

/// Rows that an erasure locks before it checks the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LockScope {
    /// Rows of the account alone.
    Account,
    /// Also the number of accounts. It blocks all registrations, so only the erasures
    /// of administrators lock it.
    AccountCount,
}

/// Result of one attempt to erase an account.
enum ErasureAttempt {
    /// The attempt decided the outcome.
    Finished(ErasureOutcome),
    /// The account is an administrator's, whose erasure needs
    /// [`LockScope::AccountCount`].
    NeedsAccountCount,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = accounts)]
struct LockedAccount {
    role: String,
    email_folded: String,
    deactivated_at: Option<DbInstant>,
}

connection_trait! {
    /// Locks and conditions of an erasure. Call each method inside its transaction.
    trait ErasureGuards {
        /// Locks the number of accounts until the commit, so that of two
        /// administrators who leave at once the second sees that the first is gone.
        async fn lock_account_count(&mut self) -> Result<(), DbError> {
            let turn_update = diesel::update(locks::table.find(ACCOUNT_COUNT))
                .set(locks::turn.eq(locks::turn + 1));
            match turn_update.execute(self).await? {
                1 => Ok(()),
                _ => Err(DbError::Unreadable("locks")),
            }
        }

        /// Locks an account until the commit, so that no session starts meanwhile.
        async fn lock_account(&mut self, user: UserId) -> Result<Option<LockedAccount>, DbError> {
            let account = accounts::table.find(DbUid(user.0));
            Ok(lock_row!(self, account, accounts::provider, LockedAccount::as_returning()))
        }

        /// Returns whether the session that requests an erasure has not ended.
        async fn has_live_session(&mut self, erasure: &AccountErasure) -> Result<bool, DbError> {
            let is_live = sessions::expires_at.gt(DbInstant(erasure.at));
            let live_session = sessions::table
                .find(DbUid(erasure.session.0))
                .filter(sessions::user_id.eq(DbUid(erasure.user.0)).and(is_live));
            Ok(diesel::select(exists(live_session)).get_result(self).await?)
        }

        /// Returns whether no other account is an active administrator's.
        async fn is_last_admin(&mut self, user: UserId) -> Result<bool, DbError> {
            let other_admins = accounts::table
                .filter(accounts::role.eq(Role::Admin.name()))
                .filter(accounts::id.ne(DbUid(user.0)))
                .filter(accounts::deactivated_at.is_null());
            let has_other_admin: bool =
                diesel::select(exists(other_admins)).get_result(self).await?;
            Ok(!has_other_admin)
        }
    }
}
