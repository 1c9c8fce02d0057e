//! Erasure of accounts, in SQL.

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
use pia_storage::{Database, DbError, DbInstant, DbUid, WriteEffects, in_tx, lock_row, on_conn};

use crate::forgetting::EraseRows;

/// Row of `locks` that serialises changes of the number of accounts or
/// administrators.
const ACCOUNTS: &str = "accounts";

/// Maximum number of retries of a deletion that lost a conflict.
const MAX_TRIES: u32 = 10;

/// Number of unclaimed accounts that are loaded at once.
const AT_ONCE: i64 = 100;

/// Condition for accounts that were never used.
macro_rules! unclaimed {
    ($which:expr) => {{
        let made = &$which.made;
        let of_account = sign_ins::user_id.eq(accounts::id);
        let signed_in = sign_ins::outcome.eq(SignInOutcome::SignedIn.name());
        let used = exists(sign_ins::table.filter(of_account.and(signed_in)));
        let in_use = exists(sessions::table.filter(sessions::user_id.eq(accounts::id)));
        accounts::created_at
            .ge(DbInstant(made.start))
            .and(accounts::created_at.lt(DbInstant(made.end)))
            .and(accounts::email_verified_at.is_null())
            .and(accounts::deactivated_at.is_null())
            .and(accounts::role.eq(Role::User.name()))
            .and(not(used))
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

    /// Removes the account. Returns `None` if it is an administrator's, which
    /// requires the turn.
    async fn remove(
        &self,
        erasure: &AccountErasure,
        in_turn: bool,
    ) -> Result<Option<ErasureOutcome>, DbError> {
        let user = DbUid(erasure.user.0);
        let emails = SideEffects { audit: Vec::new(), mail: erasure.effects.mail.clone() };
        let entries = SideEffects { audit: erasure.effects.audit.clone(), mail: Vec::new() };
        let nameless = RequestContext {
            request: RequestContext::current().request,
            ..RequestContext::default()
        };
        in_tx!(self.db, async |conn| -> Result<Option<ErasureOutcome>, DbError> {
            conn.bound_lock_waits().await?;
            if in_turn {
                // So that of two administrators who leave at once the second
                // sees that the first is gone.
                let locked_rows = diesel::update(locks::table.find(ACCOUNTS))
                    .set(locks::turn.eq(locks::turn + 1))
                    .execute(conn)
                    .await?;
                if locked_rows != 1 {
                    return Err(DbError::Unreadable("locks"));
                }
            }
            conn.hold_writers(erasure.user).await?;
            // Locked, so that no session starts meanwhile.
            let account = diesel::update(accounts::table.find(user))
                .set(accounts::provider.eq(accounts::provider))
                .returning((accounts::role, accounts::email_folded, accounts::deactivated_at))
                .get_result::<(String, String, Option<DbInstant>)>(conn)
                .await
                .optional()?;
            let Some((role, email, deactivated_at)) = account else {
                return Ok(Some(ErasureOutcome::Gone));
            };
            let is_live = sessions::expires_at.gt(DbInstant(erasure.at));
            let live_session = sessions::table
                .find(DbUid(erasure.session.0))
                .filter(sessions::user_id.eq(user).and(is_live));
            let has_session = diesel::select(exists(live_session)).get_result::<bool>(conn).await?;
            if deactivated_at.is_some() || !has_session {
                return Ok(Some(ErasureOutcome::SessionOver));
            }
            if role == Role::Admin.name() {
                if !in_turn {
                    return Ok(None);
                }
                let other = accounts::role.eq(&role).and(accounts::id.ne(user));
                let other_accounts =
                    accounts::table.filter(other.and(accounts::deactivated_at.is_null()));
                if !diesel::select(exists(other_accounts)).get_result::<bool>(conn).await? {
                    return Ok(Some(ErasureOutcome::LastAdmin));
                }
            }

            conn.forget(erasure.user, &email).await?;
            conn.write_effects(&self.db, &emails).await?;
            nameless.clone().scope(conn.write_effects(&self.db, &entries)).await?;
            Ok(Some(ErasureOutcome::Erased))
        })
    }

    /// Loads candidates of unclaimed accounts. Each is checked again before its erasure.
    async fn load_unclaimed(&self, which: &UnverifiedAccounts) -> Result<Vec<UserId>, DbError> {
        let candidates = accounts::table
            .filter(unclaimed!(which))
            .select(accounts::id)
            .order(accounts::created_at)
            .limit(AT_ONCE);
        let ids: Vec<DbUid> = on_conn!(self.db.reader(), |conn| candidates.load(conn).await?)?;
        Ok(ids.into_iter().map(|it| UserId(it.0)).collect())
    }

    async fn remove_unclaimed(
        &self,
        user: UserId,
        which: &UnverifiedAccounts,
    ) -> Result<bool, DbError> {
        let entries = (which.effects)(which.at);
        in_tx!(self.db, async |conn| -> Result<bool, DbError> {
            conn.bound_lock_waits().await?;
            conn.hold_writers(user).await?;
            // Locked, so that it is neither verified nor signed in to meanwhile.
            let locked_rows = diesel::update(accounts::table.find(DbUid(user.0)))
                .set(accounts::provider.eq(accounts::provider))
                .execute(conn)
                .await?;
            if locked_rows == 0 {
                return Ok(false);
            }

            let email = accounts::table
                .find(DbUid(user.0))
                .filter(unclaimed!(which))
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

    async fn mark_and_truncate(&self) {
        self.needs_truncation.store(true, Ordering::Release);
        // The rows are deleted; a failure to truncate the file is retried later.
        drop(self.truncate().await);
    }

    async fn truncate(&self) -> Result<bool, Unavailable> {
        // Reset before it is done: later deletions require another truncation.
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
        let mut tries = 0;
        let mut in_turn = false;
        let outcome = loop {
            match self.remove(&erasure, in_turn).await {
                Ok(Some(outcome)) => break outcome,
                Ok(None) => in_turn = true,
                Err(err) if err.is_conflict() && tries < MAX_TRIES => tries += 1,
                Err(err) => return Err(err.into()),
            }
        };

        if outcome == ErasureOutcome::Erased {
            self.mark_and_truncate().await;
        }

        Ok(outcome)
    }

    async fn erase_unverified(&self, unclaimed: UnverifiedAccounts) -> Result<u64, Unavailable> {
        let mut erased = 0;
        loop {
            let candidates = self.load_unclaimed(&unclaimed).await?;
            let before = erased;
            for user in candidates {
                erased += u64::from(self.remove_unclaimed(user, &unclaimed).await?);
            }
            if erased == before {
                break;
            }
        }

        if erased > 0 {
            self.mark_and_truncate().await;
        }

        Ok(erased)
    }

    async fn settle(&self) -> Result<bool, Unavailable> {
        if AtomicBool::load(&self.needs_truncation, Ordering::Acquire) {
            self.truncate().await
        } else {
            Ok(true)
        }
    }
}
