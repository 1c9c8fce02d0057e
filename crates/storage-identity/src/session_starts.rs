//! Start times of sessions, in SQL.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{SessionRef, SessionStarts};
use pia_kernel::{Timestamp, Unavailable};
use pia_storage::schema::sessions;
use pia_storage::{Database, DbInstant, DbUid, on_conn};

/// Start times of sessions, in SQL.
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
    async fn began_at(&self, session_ref: SessionRef) -> Result<Option<Timestamp>, Unavailable> {
        let own_session = sessions::table
            .find(DbUid(session_ref.session.0))
            .filter(sessions::user_id.eq(DbUid(session_ref.user.0)))
            .select(sessions::began_at);
        let began_at: Option<DbInstant> =
            on_conn!(self.db.reader(), |conn| own_session.first(conn).await.optional()?)?;
        Ok(began_at.map(|it| it.0))
    }
}
