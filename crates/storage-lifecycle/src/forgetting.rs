//! Erasure of an account's rows, in all tables.

use diesel::prelude::*;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use pia_kernel::UserId;
use pia_storage::schema::{
    accounts, ai_usage, attempts, audit_identities, chats, credit_reservations, credit_windows,
    guesses, invitations, ledgers, sync_items, usage_by_user, usage_users,
};
use pia_storage::{AsyncPostgres, AsyncSqlite, DbError, DbUid, connection_trait};

use crate::pseudonym::pseudonym;

connection_trait! {
    /// Connection that can erase accounts.
    ///
    /// Inside one transaction: first [`bound_lock_waits`](EraseRows::bound_lock_waits), then
    /// [`hold_writers`](EraseRows::hold_writers), then the account's lock, and then
    /// [`forget`](EraseRows::forget).
    pub(crate) trait EraseRows {
        /// Bounds lock waits, so that this transaction gives up in a deadlock before
        /// others do: a deletion can be retried unnoticed.
        async fn bound_lock_waits(&mut self) -> QueryResult<()> {
            self.bound_waits().await
        }

        /// Waits for concurrent writers of the account's data, and blocks others
        /// until the commit.
        async fn hold_writers(&mut self, user: UserId) -> QueryResult<()> {
            let ledger = diesel::update(ledgers::table.find(DbUid(user.0)));
            ledger.set(ledgers::version.eq(ledgers::version)).execute(self).await?;
            Ok(())
        }

        /// Erases an account and all its data. Rows that refer to the account are
        /// deleted with it; others are named here.
        async fn forget(&mut self, user: UserId, email_folded: &str) -> Result<(), DbError> {
            let pattern = format!("%{user}%");
            let reservation_prefix = format!("{user}:%");
            let pseudonym_id = pseudonym()?;
            let user = DbUid(user.0);

            // Before all that is shared with others: it may take long.
            let stored = chats::table.filter(chats::user_id.eq(user));
            diesel::delete(stored).execute(self).await?;

            let synced = sync_items::table.filter(sync_items::user_id.eq(user));
            diesel::delete(synced).execute(self).await?;

            // Before usage, as bookings of calls lock them first.
            let counted = credit_windows::table.filter(credit_windows::user_id.eq(user));
            let counted = diesel::delete(counted).returning(credit_windows::key);
            let counted: Vec<String> = counted.get_results(self).await?;
            let open = credit_reservations::window_key.eq_any(counted);
            let open = open.or(credit_reservations::window_key.like(&reservation_prefix));
            let open = diesel::delete(credit_reservations::table.filter(open));
            open.execute(self).await?;
            self.hold_usage().await?;

            let used = diesel::update(ai_usage::table.filter(ai_usage::user_id.eq(user)));
            used.set(ai_usage::user_id.eq(pseudonym_id)).execute(self).await?;

            let sums = usage_by_user::table.filter(usage_by_user::user_id.eq(user));
            let sums = diesel::update(sums).set(usage_by_user::user_id.eq(pseudonym_id));
            sums.execute(self).await?;

            let last_days = usage_users::table.filter(usage_users::user_id.eq(user));
            let last_days = diesel::update(last_days).set(usage_users::user_id.eq(pseudonym_id));
            last_days.execute(self).await?;

            let identities = audit_identities::table.filter(audit_identities::user_id.eq(user));
            diesel::delete(identities).execute(self).await?;

            let invited = invitations::table;
            let invited = invited.filter(invitations::email_folded.eq(email_folded));
            diesel::delete(invited).execute(self).await?;

            let counted = attempts::table.filter(attempts::who.like(&pattern));
            diesel::delete(counted).execute(self).await?;

            let guessed = guesses::table.filter(guesses::who.like(&pattern));
            diesel::delete(guessed).execute(self).await?;
            diesel::delete(accounts::table.find(user)).execute(self).await?;

            Ok(())
        }
    }
}

/// Locks that the two databases take differently.
trait Locks {
    /// Ends the transaction with an error after a short wait for a lock. The
    /// limit is shorter than PostgreSQL's `deadlock_timeout`, after which it
    /// would end either of the two.
    async fn bound_waits(&mut self) -> QueryResult<()>;

    /// Blocks writes of usage until the commit.
    ///
    /// Writers of usage check its account in the same transaction: usage
    /// written before is visible here and renamed, as are its sums, and later
    /// writes find that the account is gone.
    async fn hold_usage(&mut self) -> QueryResult<()>;
}

/// SQLite has one writer and needs no lock.
impl Locks for AsyncSqlite {
    async fn bound_waits(&mut self) -> QueryResult<()> {
        Ok(())
    }

    async fn hold_usage(&mut self) -> QueryResult<()> {
        Ok(())
    }
}

impl Locks for AsyncPostgres {
    async fn bound_waits(&mut self) -> QueryResult<()> {
        // Deleting much stored data takes time.
        let limits = "SET LOCAL lock_timeout = '500ms'; SET LOCAL statement_timeout = '60s'";
        self.batch_execute(limits).await
    }

    async fn hold_usage(&mut self) -> QueryResult<()> {
        self.batch_execute("LOCK TABLE ai_usage IN SHARE ROW EXCLUSIVE MODE").await
    }
}
