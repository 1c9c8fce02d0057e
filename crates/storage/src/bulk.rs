//! Bulk inserts, which the two backends do differently; see `insert_all!`.

use diesel::QueryResult;

/// A connection that can insert many rows of one kind at once.
pub trait InsertAll<R> {
    /// Inserts the rows whose key does not exist yet, leaves the others
    /// unchanged and returns the number of inserted rows. All or nothing, inside
    /// [`in_tx!`](crate::in_tx) and outside.
    ///
    /// PostgreSQL takes at most 65,535 values in one statement, which bounds the
    /// number of rows times that of their columns.
    fn insert_all(&mut self, rows: Vec<R>) -> impl Future<Output = QueryResult<usize>> + Send;
}

/// Implements [`InsertAll`] for the caller's row types.
///
/// diesel-async has no batch insert for SQLite, so there the sync diesel inserts
/// row by row, on the thread that owns the connection.
#[macro_export]
macro_rules! insert_all {
    ($($row:ty => $table:ident),* $(,)?) => {$(
        impl $crate::InsertAll<$row> for $crate::AsyncPostgres {
            async fn insert_all(&mut self, rows: Vec<$row>) -> diesel::QueryResult<usize> {
                if rows.is_empty() {
                    return Ok(0);
                }
                let insert =
                    diesel::insert_into($table::table).values(rows).on_conflict_do_nothing();
                $crate::diesel_async::RunQueryDsl::execute(insert, self).await
            }
        }

        impl $crate::InsertAll<$row> for $crate::AsyncSqlite {
            async fn insert_all(&mut self, rows: Vec<$row>) -> diesel::QueryResult<usize> {
                self.spawn_blocking(move |conn| {
                    diesel::Connection::transaction(conn, |conn| {
                        rows.into_iter().try_fold(0, |inserted, row| {
                            let insert =
                                diesel::insert_into($table::table).values(row).on_conflict_do_nothing();
                            Ok(inserted + diesel::RunQueryDsl::execute(insert, conn)?)
                        })
                    })
                })
                .await
            }
        }
    )*};
}
