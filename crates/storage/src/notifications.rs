//! Notifications between the processes that share a database of PostgreSQL.
//!
//! They only spare waiting: one may be lost, so whoever listens polls too.
//!
//! A writer calls `notify_processes` in its transaction; readers run `listen` on a task,
//! and look at the database whenever they are woken.

use std::time::Duration;

use diesel::sql_types::Text;
use diesel_async::pooled_connection::deadpool::Object;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::{StreamExt, pin_mut};
use tokio::sync::Notify;

use crate::db::Database;
use crate::error::DbError;
use crate::pools::{AsyncPostgres, AsyncSqlite, Pools};

/// Delay before a lost connection is opened again.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// Interval of checks that the connection is alive.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);

diesel::define_sql_function! {
    /// Notifies those who listen to a channel. Returns nothing.
    fn pg_notify(channel: Text, payload: Text) -> Text;
}

/// Statement that notifies those who listen to a channel.
#[diesel::dsl::auto_type(no_type_alias)]
pub(crate) fn notification(channel: &'static str) -> _ {
    diesel::dsl::select(pg_notify(channel, ""))
}

/// Connection that can notify the processes which share its database.
pub trait NotifyProcesses {
    /// Notifies those who listen to a channel, once the transaction in progress is
    /// committed. Does nothing on SQLite.
    fn notify_processes(
        &mut self,
        channel: &'static str,
    ) -> impl Future<Output = Result<(), DbError>> + Send;
}

impl NotifyProcesses for AsyncSqlite {
    async fn notify_processes(&mut self, _channel: &'static str) -> Result<(), DbError> {
        Ok(())
    }
}

impl NotifyProcesses for AsyncPostgres {
    async fn notify_processes(&mut self, channel: &'static str) -> Result<(), DbError> {
        RunQueryDsl::execute(notification(channel), self).await?;
        Ok(())
    }
}

impl Database {
    /// Wakes `wake` for each notification on a channel, and whenever one may have
    /// been lost. Runs until dropped; for ever without effect on SQLite.
    pub async fn listen(&self, channel: &'static str, wake: &Notify) {
        let mut is_logged = false;
        loop {
            let Err(err) = self.listen_once(channel, wake).await;
            if !is_logged {
                tracing::warn!(error = %err, channel, "notifications of other processes are lost");
            }
            is_logged = true;
            tokio::time::sleep(RETRY_DELAY).await;
        }
    }

    async fn listen_once(
        &self,
        channel: &'static str,
        wake: &Notify,
    ) -> Result<std::convert::Infallible, DbError> {
        let Pools::Postgres(pool) = &self.pools else { return std::future::pending().await };

        // Not one of those that requests share.
        let mut conn = Object::take(pool.get().await?);
        RunQueryDsl::execute(diesel::sql_query(format!("LISTEN {channel}")), &mut conn).await?;
        wake.notify_one();

        loop {
            if next_within(&mut conn, CHECK_INTERVAL).await? {
                wake.notify_one();
            } else {
                RunQueryDsl::execute(diesel::sql_query("SELECT 1"), &mut conn).await?;
            }
        }
    }
}

/// Returns whether a notification came within a time.
async fn next_within(conn: &mut AsyncPgConnection, limit: Duration) -> Result<bool, DbError> {
    let notifications = conn.notifications_stream();
    pin_mut!(notifications);
    match tokio::time::timeout(limit, notifications.next()).await {
        Err(_elapsed) => Ok(false),
        Ok(Some(notification)) => Ok(notification.map(|_| true)?),
        Ok(None) => Err(DbError::Abandoned),
    }
}
