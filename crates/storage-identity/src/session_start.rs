//! Start of a session, with its side effects.
//!
//! Both databases take the same steps: refuse outdated credentials, record
//! the use of an app password, find out if the device is new, insert session,
//! token and sign-in, and end the sessions beyond the limit. `sqlite.rs`
//! takes them one by one: read it first. Change both files together.

mod postgres;
mod sqlite;

use diesel_async::pooled_connection::deadpool::Object;
use pia_identity::{NewSession, SessionStartEffects, SessionStartOutcome};
use pia_kernel::SideEffects;
use pia_storage::{AsyncPostgres, Conn, Database, DbError, RetryBackoff};

/// Session to be started, with its side effects.
pub(crate) struct SessionStart {
    /// Session, its token and the sign-in.
    pub(crate) new: NewSession,
    /// Maximum number of the user's live sessions.
    pub(crate) max: usize,
    /// Side effects of the start.
    pub(crate) effects: SideEffects,
    /// Side effects of ended sessions and new devices.
    pub(crate) conditional_effects: SessionStartEffects,
}

impl SessionStart {
    /// Stores the session, if the sign-in is still valid.
    pub(crate) async fn store(&self, db: &Database) -> Result<SessionStartOutcome, DbError> {
        match db.writer().await? {
            Conn::Sqlite(mut conn) => {
                let conn = &mut *conn;
                conn.immediate_transaction(async |conn| self.on_sqlite(db, conn).await).await
            }
            Conn::Postgres(conn) => self.store_on_postgres(db, conn).await,
        }
    }

    /// Stores the session, and retries on conflicts, as `in_tx!` does.
    async fn store_on_postgres(
        &self,
        db: &Database,
        mut conn: Object<AsyncPostgres>,
    ) -> Result<SessionStartOutcome, DbError> {
        let mut backoff = RetryBackoff::default();
        loop {
            match self.on_postgres(db, conn).await {
                Err(err) if err.is_conflict() && backoff.next().await => {
                    let Conn::Postgres(new_conn) = db.writer().await? else { return Err(err) };
                    conn = new_conn;
                }
                outcome => return outcome,
            }
        }
    }

    fn max(&self) -> i64 {
        i64::try_from(self.max.max(1)).unwrap_or(i64::MAX)
    }
}
