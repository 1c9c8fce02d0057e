//! Forgetting people, in SQL.

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
use pia_storage::{Database, DbError, DbInstant, DbUid, WriteEffects, in_tx, on_conn};

use crate::forgetting::EraseRows;

/// The row of `locks` that is held by whoever changes how many accounts or
/// administrators there are.
const ACCOUNTS: &str = "accounts";

/// Number of times that a deletion that gave way to others is tried again.
const MAX_TRIES: u32 = 10;

/// Number of unclaimed accounts are looked up at once.
const AT_ONCE: i64 = 100;

/// Condition for accounts that nobody ever came to use.
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

/// Forgetting people, in SQL.
///
/// What refers to an account goes with it; what does not is named here.
#[derive(Debug, Clone)]
pub struct SqlEraser {
    db: Database,
    /// True if the database's log may hold deleted data, also from before the
    /// start.
    needs_truncation: Arc<AtomicBool>,
}

impl SqlEraser {
    /// Forgets people in `db`.
    pub fn new(db: Database) -> Self {
        Self { db, needs_truncation: Arc::new(AtomicBool::new(true)) }
    }

    /// Removes the account. Nothing if it is an administrator's, which only
    /// goes in turn.
    async fn remove(
        &self,
        leaving: &AccountErasure,
        in_turn: bool,
    ) -> Result<Option<ErasureOutcome>, DbError> {
        let user = DbUid(leaving.user.0);
        let letters = SideEffects { audit: Vec::new(), mail: leaving.effects.mail.clone() };
        let entries = SideEffects { audit: leaving.effects.audit.clone(), mail: Vec::new() };
        let nameless = RequestContext {
            request: RequestContext::current().request,
            ..RequestContext::default()
        };
        in_tx!(self.db, async |conn| -> Result<Option<ErasureOutcome>, DbError> {
            conn.bound_lock_waits().await?;
            if in_turn {
                // So that of two administrators who leave at once the second
                // sees that the first is gone.
                let turn = diesel::update(locks::table.find(ACCOUNTS));
                if turn.set(locks::turn.eq(locks::turn + 1)).execute(conn).await? != 1 {
                    return Err(DbError::Unreadable("locks"));
                }
            }
            conn.hold_writers(leaving.user).await?;
            // Locked, so that no session begins meanwhile.
            let account = diesel::update(accounts::table.find(user))
                .set(accounts::provider.eq(accounts::provider))
                .returning((accounts::role, accounts::email_folded, accounts::deactivated_at))
                .get_result::<(String, String, Option<DbInstant>)>(conn)
                .await
                .optional()?;
            let Some((role, email, deactivated)) = account else {
                return Ok(Some(ErasureOutcome::Gone));
            };
            let live = sessions::expires_at.gt(DbInstant(leaving.at));
            let live = sessions::table
                .find(DbUid(leaving.session.0))
                .filter(sessions::user_id.eq(user).and(live));
            let live = diesel::select(exists(live)).get_result::<bool>(conn).await?;
            if deactivated.is_some() || !live {
                return Ok(Some(ErasureOutcome::SessionOver));
            }
            if role == Role::Admin.name() {
                if !in_turn {
                    return Ok(None);
                }
                let other = accounts::role.eq(&role).and(accounts::id.ne(user));
                let others = accounts::table.filter(other.and(accounts::deactivated_at.is_null()));
                if !diesel::select(exists(others)).get_result::<bool>(conn).await? {
                    return Ok(Some(ErasureOutcome::LastAdmin));
                }
            }

            conn.forget(leaving.user, &email).await?;
            conn.write_effects(&self.db, &letters).await?;
            nameless.clone().scope(conn.write_effects(&self.db, &entries)).await?;
            Ok(Some(ErasureOutcome::Erased))
        })
    }

    /// Accounts that may be unclaimed. Each is looked at again before it goes.
    async fn unclaimed(&self, which: &UnverifiedAccounts) -> Result<Vec<UserId>, DbError> {
        let some = accounts::table.filter(unclaimed!(which)).select(accounts::id);
        let some = some.order(accounts::created_at).limit(AT_ONCE);
        let found: Vec<DbUid> = on_conn!(self.db.reader(), |conn| some.load(conn).await?)?;
        Ok(found.into_iter().map(|it| UserId(it.0)).collect())
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
            // Locked, so that nobody verifies it or signs in to it meanwhile.
            let account = diesel::update(accounts::table.find(DbUid(user.0)))
                .set(accounts::provider.eq(accounts::provider));
            if account.execute(conn).await? == 0 {
                return Ok(false);
            }
            let account = accounts::table.find(DbUid(user.0)).filter(unclaimed!(which));
            let email = account.select(accounts::email_folded).first::<String>(conn).await;
            let Some(email) = email.optional()? else { return Ok(false) };
            conn.forget(user, &email).await?;
            conn.write_effects(&self.db, &entries).await?;
            Ok(true)
        })
    }

    async fn mark_and_truncate(&self) {
        self.needs_truncation.store(true, Ordering::Release);
        // They are gone; what is left in a file can wait.
        drop(self.truncate().await);
    }

    async fn truncate(&self) -> Result<bool, Unavailable> {
        // Taken back before it is done: what goes meanwhile is owed again.
        self.needs_truncation.store(false, Ordering::Release);
        let done = self.db.truncate_log().await;
        if !matches!(done, Ok(true)) {
            self.needs_truncation.store(true, Ordering::Release);
        }
        Ok(done?)
    }
}

#[async_trait]
impl Eraser for SqlEraser {
    async fn erase(&self, departure: AccountErasure) -> Result<ErasureOutcome, Unavailable> {
        let mut tries = 0;
        let mut in_turn = false;
        let erasure = loop {
            match self.remove(&departure, in_turn).await {
                Ok(Some(erasure)) => break erasure,
                Ok(None) => in_turn = true,
                Err(err) if err.is_conflict() && tries < MAX_TRIES => tries += 1,
                Err(err) => return Err(err.into()),
            }
        };
        if erasure == ErasureOutcome::Erased {
            self.mark_and_truncate().await;
        }
        Ok(erasure)
    }

    async fn erase_unverified(&self, unclaimed: UnverifiedAccounts) -> Result<u64, Unavailable> {
        let mut gone = 0;
        loop {
            let (some, before) = (self.unclaimed(&unclaimed).await?, gone);
            for user in some {
                gone += u64::from(self.remove_unclaimed(user, &unclaimed).await?);
            }
            if gone == before {
                break;
            }
        }
        if gone > 0 {
            self.mark_and_truncate().await;
        }
        Ok(gone)
    }

    async fn settle(&self) -> Result<bool, Unavailable> {
        if AtomicBool::load(&self.needs_truncation, Ordering::Acquire) {
            self.truncate().await
        } else {
            Ok(true)
        }
    }
}
