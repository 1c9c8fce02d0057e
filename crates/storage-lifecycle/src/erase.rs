//! Forgetting people, in SQL.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use pia_identity::Role;
use pia_kernel::{Departure, Effects, Eraser, Erasure, Origin, Unavailable};
use pia_storage::schema::{
    accounts, ai_usage, attempts, audit_identities, guesses, invitations, locks, sessions,
};
use pia_storage::{
    AsyncPostgres, AsyncSqlite, Database, DbError, DbInstant, DbUid, WriteEffects, in_tx,
};

use crate::pseudonym::pseudonym;

/// The row of `locks` that is held by whoever changes how many accounts or
/// administrators there are.
const ACCOUNTS: &str = "accounts";

/// Forgetting people, in SQL.
///
/// What refers to an account goes with it; what does not is named here.
#[derive(Debug, Clone)]
pub struct SqlEraser {
    db: Database,
    /// Whether the log of the database may hold what was deleted. So it may
    /// from before the start.
    owed: Arc<AtomicBool>,
}

impl SqlEraser {
    /// Forgets people in `db`.
    pub fn new(db: Database) -> Self {
        Self { db, owed: Arc::new(AtomicBool::new(true)) }
    }

    async fn remove(&self, leaving: &Departure) -> Result<Erasure, DbError> {
        let (user, nobody) = (DbUid(leaving.user.0), pseudonym()?);
        let named = format!("%{}%", leaving.user);
        let letters = Effects { audit: Vec::new(), mail: leaving.effects.mail.clone() };
        let entries = Effects { audit: leaving.effects.audit.clone(), mail: Vec::new() };
        let nameless = Origin { request: Origin::current().request, ..Origin::default() };
        in_tx!(self.db, async |conn| -> Result<Erasure, DbError> {
            // Held by whoever takes an administrator away, so that of two who
            // leave at once the second sees that the first is gone.
            let turn = diesel::update(locks::table.find(ACCOUNTS));
            if turn.set(locks::turn.eq(locks::turn + 1)).execute(conn).await? != 1 {
                return Err(DbError::Unreadable("locks"));
            }
            // Locked, so that no session begins meanwhile.
            let account = diesel::update(accounts::table.find(user))
                .set(accounts::provider.eq(accounts::provider))
                .returning((accounts::role, accounts::email_folded, accounts::deactivated_at))
                .get_result::<(String, String, Option<DbInstant>)>(conn)
                .await
                .optional()?;
            let Some((role, email, deactivated)) = account else {
                return Ok(Erasure::Gone);
            };
            let live = sessions::expires_at.gt(DbInstant(leaving.at));
            let live = sessions::table
                .find(DbUid(leaving.session.0))
                .filter(sessions::user_id.eq(user).and(live));
            let live = diesel::select(exists(live)).get_result::<bool>(conn).await?;
            if deactivated.is_some() || !live {
                return Ok(Erasure::SessionOver);
            }
            if role == Role::Admin.name() {
                let other = accounts::role.eq(&role).and(accounts::id.ne(user));
                let others = accounts::table.filter(other.and(accounts::deactivated_at.is_null()));
                if !diesel::select(exists(others)).get_result::<bool>(conn).await? {
                    return Ok(Erasure::LastAdmin);
                }
            }

            conn.hold_usage().await?;
            let used = diesel::update(ai_usage::table.filter(ai_usage::user_id.eq(user)));
            used.set(ai_usage::user_id.eq(nobody)).execute(conn).await?;
            let told = audit_identities::table.filter(audit_identities::user_id.eq(user));
            diesel::delete(told).execute(conn).await?;
            let invited = invitations::table.filter(invitations::email_folded.eq(&email));
            diesel::delete(invited).execute(conn).await?;
            let counted = attempts::table.filter(attempts::who.like(&named));
            diesel::delete(counted).execute(conn).await?;
            let guessed = guesses::table.filter(guesses::who.like(&named));
            diesel::delete(guessed).execute(conn).await?;
            diesel::delete(accounts::table.find(user)).execute(conn).await?;

            conn.write_effects(&self.db, &letters).await?;
            nameless.clone().scope(conn.write_effects(&self.db, &entries)).await?;
            Ok(Erasure::Erased)
        })
    }

    async fn truncate(&self) -> Result<bool, Unavailable> {
        let done = self.db.truncate_log().await?;
        if done {
            self.owed.store(false, Ordering::Release);
        }
        Ok(done)
    }
}

#[async_trait]
impl Eraser for SqlEraser {
    async fn erase(&self, departure: Departure) -> Result<Erasure, Unavailable> {
        let erasure = self.remove(&departure).await?;
        if erasure == Erasure::Erased {
            self.owed.store(true, Ordering::Release);
            // The person is gone; what is left in a file can wait.
            drop(self.truncate().await);
        }
        Ok(erasure)
    }

    async fn settle(&self) -> Result<bool, Unavailable> {
        if AtomicBool::load(&self.owed, Ordering::Acquire) {
            self.truncate().await
        } else {
            Ok(true)
        }
    }
}

/// Keeps usage from being written until the commit.
///
/// Whoever writes usage looks for its account in the same transaction: what is
/// written before is then seen and renamed, and what comes after finds that the
/// account is gone.
trait HoldUsage {
    async fn hold_usage(&mut self) -> QueryResult<()>;
}

/// There is one writer anyway.
impl HoldUsage for AsyncSqlite {
    async fn hold_usage(&mut self) -> QueryResult<()> {
        Ok(())
    }
}

impl HoldUsage for AsyncPostgres {
    async fn hold_usage(&mut self) -> QueryResult<()> {
        self.batch_execute("LOCK TABLE ai_usage IN SHARE ROW EXCLUSIVE MODE").await
    }
}
