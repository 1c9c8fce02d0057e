//! Times when sessions proved their owners, in SQL.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{SessionRef, SessionStarts};
use pia_kernel::{Timestamp, Unavailable};
use pia_storage::schema::sessions;
use pia_storage::{Database, DbInstant, DbUid, on_conn};

/// Adapter of `SessionStarts` over the table `sessions`.
#[derive(Debug, Clone)]
pub struct SqlSessionStarts {
    db: Database,
}

impl SqlSessionStarts {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl SessionStarts for SqlSessionStarts {
    async fn proved_at(&self, session_ref: SessionRef) -> Result<Option<Timestamp>, Unavailable> {
        let own_session = sessions::table
            .find(DbUid(session_ref.session.0))
            .filter(sessions::user_id.eq(DbUid(session_ref.user.0)))
            .select((sessions::began_at, sessions::proved_at));
        let times: Option<(DbInstant, Option<DbInstant>)> =
            on_conn!(self.db.reader(), |conn| own_session.first(conn).await.optional()?)?;
        Ok(times.map(|(began_at, proved_at)| proved_at.unwrap_or(began_at).0))
    }

    async fn prove(&self, session_ref: SessionRef, at: Timestamp) -> Result<(), Unavailable> {
        let own_session = sessions::table
            .find(DbUid(session_ref.session.0))
            .filter(sessions::user_id.eq(DbUid(session_ref.user.0)));
        let update = diesel::update(own_session).set(sessions::proved_at.eq(DbInstant(at)));
        on_conn!(self.db.writer(), |conn| update.execute(conn).await?)?;
        Ok(())
    }
}
