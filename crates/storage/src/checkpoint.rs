//! Cutting SQLite's log.

use diesel::prelude::*;
use diesel::sql_types::Integer;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};

use crate::connect::SQLITE_BUSY;
use crate::db::{AsyncSqlite, DbError};

/// Whoever writes waits meanwhile, so it is no long wait for those who read.
const BRIEFLY: &str = "PRAGMA busy_timeout = 250;";

#[derive(QueryableByName)]
struct Checkpoint {
    #[diesel(sql_type = Integer)]
    busy: i32,
}

/// Empties the log into the file and cuts it. Answers whether it could.
pub(crate) async fn truncate(conn: &mut AsyncSqlite) -> Result<bool, DbError> {
    conn.batch_execute(BRIEFLY).await?;
    let pragma = diesel::sql_query("PRAGMA wal_checkpoint(TRUNCATE)");
    let done = pragma.get_result::<Checkpoint>(conn).await;
    conn.batch_execute(SQLITE_BUSY).await?;
    Ok(done?.busy == 0)
}
