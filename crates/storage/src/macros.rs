//! Macros that every query goes through.
//!
//! - `on_conn!`: one body on a connection, without a transaction.
//! - `in_tx!`: one body in a write transaction, retried on PostgreSQL.
//! - `lock_row!`: a row lock within such a transaction.
//! - `in_time_order!`, `in_column_order!`: order and cursor of a page.
//! - `connection_trait!`: methods of a connection, for bodies that are shared.

/// Runs one body against a connection of either backend, and returns its value
/// or the error that prevented it, a [`DbError`](crate::DbError).
///
/// The body is compiled once per backend, so every query in it is checked
/// against both dialects.
#[macro_export]
macro_rules! on_conn {
    ($conn:expr, |$name:ident| $body:expr) => {
        match $conn.await {
            Ok($crate::Conn::Sqlite(mut object)) => {
                let $name = &mut *object;
                async { Ok::<_, $crate::DbError>($body) }.await
            }
            Ok($crate::Conn::Postgres(mut object)) => {
                let $name = &mut *object;
                async { Ok::<_, $crate::DbError>($body) }.await
            }
            Err(err) => Err(err),
        }
    };
}

/// Runs one body in a write transaction of either backend.
///
/// SQLite takes its write lock up front (`BEGIN IMMEDIATE`); a transaction
/// which reads first and then upgrades would fail with `SQLITE_BUSY`. On
/// PostgreSQL the body runs again, up to three times in all, if it was rolled
/// back for a deadlock or a conflict, so it must not consume captured values.
///
/// The body's `?` converts errors to [`DbError`](crate::DbError). Without a return
/// type, the macro converts that error to the one of the calling function.
#[macro_export]
macro_rules! in_tx {
    ($db:expr, async |$name:ident| $body:block) => {
        $crate::in_tx!($db, async |$name| -> Result<_, $crate::DbError> $body).map_err(Into::into)
    };
    ($db:expr, async |$name:ident| -> $ret:ty $body:block) => {
        match $db.writer().await? {
            $crate::Conn::Sqlite(mut object) => {
                let object = &mut *object;
                object.immediate_transaction(async |$name| -> $ret { $body }).await
            }
            $crate::Conn::Postgres(mut object) => {
                let object = &mut *object;
                let mut retry_backoff = $crate::RetryBackoff::default();
                loop {
                    let transaction = $crate::diesel_async::AsyncConnection::transaction(
                        object,
                        async |$name| -> $ret { $body },
                    );
                    match transaction.await {
                        Err(err)
                            if $crate::DbError::is_conflict(&err) && retry_backoff.next().await => {
                        }
                        outcome => break outcome,
                    }
                }
            }
        }
    };
}

/// Locks a row until the end of the transaction, on both databases, by an update
/// that changes nothing. Returns whether the row exists.
///
/// The arguments are the connection, the query of the row, and any of its columns.
/// If the query has several rows, they are locked in no particular order.
/// A fourth argument selects values of the row: `Some` of them is returned instead,
/// or `None` if the row does not exist.
#[macro_export]
macro_rules! lock_row {
    ($conn:expr, $row:expr, $column:expr $(,)?) => {{
        let update = diesel::update($row).set(diesel::ExpressionMethods::eq($column, $column));
        matches!($crate::diesel_async::RunQueryDsl::execute(update, $conn).await?, 1..)
    }};
    ($conn:expr, $row:expr, $column:expr, $selection:expr $(,)?) => {{
        let update = diesel::update($row)
            .set(diesel::ExpressionMethods::eq($column, $column))
            .returning($selection);
        let result = $crate::diesel_async::RunQueryDsl::get_result(update, $conn).await;
        diesel::OptionalExtension::optional(result)?
    }};
}

/// Sorts a boxed query in a `TimeOrder`, by a time and an id or by ids that sort
/// by time, and lets it begin after a cursor, if there is one.
///
/// One bound covers the time and the id, as SQLite uses an index for one alone.
#[macro_export]
macro_rules! in_time_order {
    ($query:expr, $order:expr, $after:expr, ($at:expr, $id:expr)) => {{
        let after = $after.unwrap_or_else(|| $order.start());
        let time = $crate::DbInstant(after.at);
        let key = $crate::DbUid(after.id);
        let mut query = $query;
        if $order.is_oldest_first() {
            query = query.filter($at.ge(time).and($at.gt(time).or($id.gt(key))));
            query.order(($at.asc(), $id.asc()))
        } else {
            query = query.filter($at.le(time).and($at.lt(time).or($id.lt(key))));
            query.order(($at.desc(), $id.desc()))
        }
    }};
    ($query:expr, $order:expr, $after:expr, $id:expr) => {{
        let after = $after.unwrap_or_else(|| $order.start());
        let key = $crate::DbUid(after.id);
        let mut query = $query;
        if $order.is_oldest_first() {
            query = query.filter($id.gt(key));
            query.order($id.asc())
        } else {
            query = query.filter($id.lt(key));
            query.order($id.desc())
        }
    }};
}

/// Sorts a boxed query by a column and then by an id, and lets it begin after a
/// `SortCursor`, if there is one. The last argument names the value of the cursor and
/// translates it to that of the column.
#[macro_export]
macro_rules! in_column_order {
    (
        $query:expr, $is_descending:expr, $after:expr, ($column:expr, $id:expr),
        $it:ident => $value:expr $(,)?
    ) => {{
        let mut query = $query;
        if $is_descending {
            if let Some(after) = &$after {
                let $it = &after.value;
                let is_tied = $column.eq($value).and($id.lt($crate::DbUid(after.id)));
                query = query.filter($column.lt($value).or(is_tied));
            }
            query.order(($column.desc(), $id.desc()))
        } else {
            if let Some(after) = &$after {
                let $it = &after.value;
                let is_tied = $column.eq($value).and($id.gt($crate::DbUid(after.id)));
                query = query.filter($column.gt($value).or(is_tied));
            }
            query.order(($column.asc(), $id.asc()))
        }
    }};
}

/// Marks queries of PostgreSQL as prepared by their text, which their type alone
/// does not determine.
#[macro_export]
macro_rules! prepared_by_text {
    ($($query:ty),+ $(,)?) => {$(
        impl diesel::query_builder::QueryId for $query {
            type QueryId = ();
            const HAS_STATIC_QUERY_ID: bool = false;
        }
    )+};
}

/// Declares a trait of a connection's methods, and implements it for both
/// backends.
///
/// A function generic over connections would have to name the type of every
/// query in its bounds, so each body is compiled twice, as in [`on_conn!`].
///
/// [`on_conn!`]: crate::on_conn
#[macro_export]
macro_rules! connection_trait {
    (
        $(#[$trait_meta:meta])*
        $vis:vis trait $name:ident $(: $super:ident)? {
            $(
                $(#[$meta:meta])*
                async fn $method:ident(&mut $self:ident $(, $arg:ident: $type:ty)* $(,)?) -> $ret:ty
                $body:block
            )+
        }
    ) => {
        $(#[$trait_meta])*
        $vis trait $name $(: $super)? {
            $(
                $(#[$meta])*
                fn $method(&mut self $(, $arg: $type)*) -> impl Future<Output = $ret> + Send;
            )+
        }

        impl $name for $crate::AsyncSqlite {
            $(async fn $method(&mut $self $(, $arg: $type)*) -> $ret $body)+
        }

        impl $name for $crate::AsyncPostgres {
            $(async fn $method(&mut $self $(, $arg: $type)*) -> $ret $body)+
        }
    };
}
