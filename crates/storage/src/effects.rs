//! Writing what goes with a change, in the change's transaction.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::Effects;
use uuid::Uuid;

use crate::db::{AsyncPostgres, AsyncSqlite};
use crate::schema::audit_entries;
use crate::sql_types::{DbInstant, DbUid};

/// A connection that can write what goes with a change.
pub trait WriteEffects {
    /// Writes all of it. Call it inside [`in_tx!`](crate::in_tx).
    fn write_effects(&mut self, effects: &Effects) -> impl Future<Output = QueryResult<()>> + Send;
}

/// A function generic over connections would have to name the type of every
/// query in its bounds, so the one body is compiled twice, as in `on_conn!`.
macro_rules! write_effects {
    ($($conn:ty),*) => {$(
        impl WriteEffects for $conn {
            async fn write_effects(&mut self, effects: &Effects) -> QueryResult<()> {
                for entry in &effects.audit {
                    let row = (
                        audit_entries::id.eq(DbUid(Uuid::now_v7())),
                        audit_entries::at.eq(DbInstant::from(entry.at)),
                        audit_entries::subject.eq(DbUid(entry.subject.0)),
                        audit_entries::action.eq(entry.action),
                    );
                    diesel::insert_into(audit_entries::table).values(row).execute(self).await?;
                }
                Ok(())
            }
        }
    )*};
}

write_effects!(AsyncSqlite, AsyncPostgres);
