//! Erasure of an account's rows, in all tables.
//!
//! Rows with a foreign key to the account go with it. Named here are the others, and
//! large amounts, which are deleted before any row is locked that others use too.

use diesel::prelude::*;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use pia_kernel::UserId;
use pia_storage::schema::{
    accounts, ai_usage, attempts, audit_identities, chats, credit_reservations, credit_windows,
    guesses, invitations, ledgers, sync_items, usage_by_hour, usage_by_user, usage_users,
};
use pia_storage::{AsyncPostgres, AsyncSqlite, DbError, DbUid, connection_trait, lock_row};

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
            lock_row!(self, ledgers::table.find(DbUid(user.0)), ledgers::version);
            Ok(())
        }

        /// Erases an account and all its data. Rows that refer to the account are
        /// deleted with it; others are named here.
        async fn forget(&mut self, user: UserId, email_folded: &str) -> Result<(), DbError> {
            // Keys of rate limits and guesses contain the id of their user.
            let pattern = format!("%{user}%");
            let id = DbUid(user.0);

            // Before the rows that others use too: this may take long.
            let own_chats = chats::table.filter(chats::user_id.eq(id));
            diesel::delete(own_chats).execute(self).await?;

            let own_items = sync_items::table.filter(sync_items::user_id.eq(id));
            diesel::delete(own_items).execute(self).await?;

            self.forget_usage(user).await?;

            let identities = audit_identities::table.filter(audit_identities::user_id.eq(id));
            diesel::delete(identities).execute(self).await?;

            let own_invitations =
                invitations::table.filter(invitations::email_folded.eq(email_folded));
            diesel::delete(own_invitations).execute(self).await?;

            let own_attempts = attempts::table.filter(attempts::who.like(&pattern));
            diesel::delete(own_attempts).execute(self).await?;

            let own_guesses = guesses::table.filter(guesses::who.like(&pattern));
            diesel::delete(own_guesses).execute(self).await?;
            diesel::delete(accounts::table.find(id)).execute(self).await?;

            Ok(())
        }

        /// Deletes an account's budgets, and attributes its usage to a new pseudonym.
        async fn forget_usage(&mut self, user: UserId) -> Result<(), DbError> {
            let reservation_prefix = format!("{user}:%");
            let pseudonym_id = pseudonym()?;
            let user_id = DbUid(user.0);

            // Before usage, as bookings of calls lock them first.
            let own_windows = credit_windows::table.filter(credit_windows::user_id.eq(user_id));
            let window_keys: Vec<String> = diesel::delete(own_windows)
                .returning(credit_windows::key)
                .get_results(self)
                .await?;
            let is_own = credit_reservations::window_key
                .eq_any(window_keys)
                .or(credit_reservations::window_key.like(&reservation_prefix));
            diesel::delete(credit_reservations::table.filter(is_own)).execute(self).await?;
            self.hold_usage().await?;

            diesel::update(ai_usage::table.filter(ai_usage::user_id.eq(user_id)))
                .set(ai_usage::user_id.eq(pseudonym_id))
                .execute(self)
                .await?;

            diesel::update(usage_by_user::table.filter(usage_by_user::user_id.eq(user_id)))
                .set(usage_by_user::user_id.eq(pseudonym_id))
                .execute(self)
                .await?;

            diesel::update(usage_by_hour::table.filter(usage_by_hour::user_id.eq(user_id)))
                .set(usage_by_hour::user_id.eq(pseudonym_id))
                .execute(self)
                .await?;

            diesel::update(usage_users::table.filter(usage_users::user_id.eq(user_id)))
                .set(usage_users::user_id.eq(pseudonym_id))
                .execute(self)
                .await?;

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
