//! Row-level security of PostgreSQL: requests see the rows of their user alone.
//!
//! Tables with the policy `own_rows` are restricted if requests and maintenance have roles of
//! their own.
//!
//! A transaction names its user with `restrict_to`, and the policy of a table compares
//! its rows with that user. For such tables, adapters use `in_user_tx!` and
//! `on_user_rows!` instead of `in_tx!` and `on_conn!`; work for all users takes
//! `unrestricted`. `check` verifies the roles at the start.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::{Array, Bool, Text};
use diesel_async::AsyncPgConnection;
use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;
use uuid::Uuid;

use crate::connection_trait;
use crate::db::Database;
use crate::error::{DbError, StartupError};
use crate::pools::{Conn, Pools};

/// Query of the tables with our policy.
const RESTRICTABLE_TABLES: &str = "
    WITH tables AS (
        SELECT relname, relowner, relrowsecurity, relforcerowsecurity
        FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid
        WHERE polname = 'own_rows' AND relnamespace = current_schema()::regnamespace
    )";

/// Query of the statements that restrict the tables, or lift the restriction. None
/// if they are as required: each locks its table.
const SWITCHES: &str = "
    SELECT format(
        CASE WHEN $1
            THEN 'ALTER TABLE %I.%I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY'
            ELSE 'ALTER TABLE %I.%I DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY'
        END,
        current_schema(), relname) AS statement
    FROM tables WHERE relrowsecurity <> $1 OR relforcerowsecurity <> $1";

/// Query of what the role of a connection may do, and of the tables.
const ROLE: &str = "
    SELECT rolsuper AS is_superuser, rolbypassrls AS bypasses,
        EXISTS (
            SELECT FROM tables WHERE pg_has_role(current_user, relowner, 'MEMBER')
        ) AS owns_tables,
        ARRAY(
            SELECT relname::text FROM tables WHERE relrowsecurity ORDER BY 1
        ) AS restricted,
        ARRAY(
            SELECT relname::text FROM tables
            WHERE NOT (relrowsecurity AND relforcerowsecurity) ORDER BY 1
        ) AS unrestricted
    FROM pg_roles WHERE rolname = current_user";

diesel::define_sql_function! {
    /// Changes a setting, for the transaction in progress if `is_local`.
    fn set_config(name: Text, value: Text, is_local: Bool) -> Text;
}

#[derive(QueryableByName)]
struct Switch {
    #[diesel(sql_type = Text)]
    statement: String,
}

#[derive(QueryableByName)]
struct Role {
    #[diesel(sql_type = Bool)]
    is_superuser: bool,
    #[diesel(sql_type = Bool)]
    bypasses: bool,
    #[diesel(sql_type = Bool)]
    owns_tables: bool,
    #[diesel(sql_type = Array<Text>)]
    restricted: Vec<String>,
    #[diesel(sql_type = Array<Text>)]
    unrestricted: Vec<String>,
}

/// Restricts the tables, or lifts the restriction, as their owner. Returns whether
/// any of them was changed.
pub(crate) fn set_restricted(
    conn: &mut AsyncConnectionWrapper<AsyncPgConnection>,
    is_restricted: bool,
) -> QueryResult<bool> {
    let switches = diesel::sql_query(format!("{RESTRICTABLE_TABLES}{SWITCHES}"))
        .bind::<Bool, _>(is_restricted)
        .load::<Switch>(conn)?;
    for Switch { statement } in &switches {
        conn.batch_execute(statement)?;
        tracing::info!(statement, "row-level security was changed");
    }
    Ok(!switches.is_empty())
}

/// Checks that the roles of a database are what its restriction needs.
pub(crate) async fn check(db: &Database) -> Result<(), StartupError> {
    let Pools::Postgres(_) = &db.pools else { return Ok(()) };

    let requests = role(db).await?;
    if db.maintenance.is_none() {
        let sees_all = requests.is_superuser || requests.bypasses || requests.restricted.is_empty();
        return if sees_all { Ok(()) } else { Err(StartupError::NoMaintenanceRole) };
    }

    let reason = match requests {
        Role { is_superuser: true, .. } => Some("is a superuser"),
        Role { bypasses: true, .. } => Some("has BYPASSRLS"),
        Role { owns_tables: true, .. } => Some("owns the tables, or is a member of their owner"),
        _ => None,
    };

    if let Some(reason) = reason {
        return Err(StartupError::RequestRole(reason));
    }
    if !requests.unrestricted.is_empty() {
        return Err(StartupError::Unrestricted(requests.unrestricted));
    }

    let maintenance = role(&db.unrestricted()).await?;
    if maintenance.is_superuser || maintenance.bypasses {
        return Ok(());
    }

    Err(StartupError::MaintenanceRole)
}

async fn role(db: &Database) -> Result<Role, StartupError> {
    let query = diesel::sql_query(format!("{RESTRICTABLE_TABLES}{ROLE}"));
    let role = async {
        match db.reader().await? {
            Conn::Sqlite(_) => Err(DbError::Unreadable("pg_roles")),
            Conn::Postgres(mut conn) => {
                Ok(diesel_async::RunQueryDsl::get_result::<Role>(query, &mut conn).await?)
            }
        }
    };
    role.await.map_err(crate::start::opening)
}

/// Statement that restricts the transaction in progress to the rows of a user.
#[diesel::dsl::auto_type(no_type_alias)]
pub(crate) fn row_restriction(user: Uuid) -> _ {
    let user_id: String = user.to_string();
    diesel::dsl::select(set_config("pia.user_id", user_id, true))
}

connection_trait! {
    /// Restriction of a transaction to the rows of a user.
    pub trait RestrictRows {
        /// Restricts the transaction in progress; for PostgreSQL only.
        async fn restrict_to(&mut self, user: Uuid) -> Result<(), DbError> {
            diesel_async::RunQueryDsl::execute(row_restriction(user), self).await?;
            Ok(())
        }
    }
}

impl Database {
    /// Restricts requests to the rows of their user if there are pools of a role
    /// that sees the rows of all.
    pub(crate) fn with_maintenance(mut self, maintenance: Option<Pools>) -> Self {
        self.maintenance = maintenance;
        self
    }

    /// Returns the database with the role that sees the rows of all users, for
    /// work that is not a user's request. The same database if there is no such
    /// role.
    #[must_use]
    pub fn unrestricted(&self) -> Self {
        let mut db = self.clone();
        if let Some(pools) = db.maintenance.take() {
            db.pools = pools;
        }
        db
    }

    /// Returns the user if transactions have to be restricted to their rows.
    #[doc(hidden)]
    pub fn restriction(&self, user: Uuid) -> Option<Uuid> {
        self.maintenance.is_some().then_some(user)
    }
}

/// Runs one body in a write transaction of either backend that sees the rows of
/// a user alone, as [`in_tx!`](crate::in_tx) does otherwise.
#[macro_export]
macro_rules! in_user_tx {
    ($db:expr, $user:expr, async |$name:ident| $body:block) => {
        $crate::in_user_tx!($db, $user, async |$name| -> Result<_, $crate::DbError> $body)
            .map_err(Into::into)
    };
    ($db:expr, $user:expr, async |$name:ident| -> $ret:ty $body:block) => {{
        let restriction = $db.restriction($user.0);
        $crate::in_tx!($db, async |$name| -> $ret {
            if let Some(user) = restriction {
                $crate::RestrictRows::restrict_to($name, user).await?;
            }
            $body
        })
    }};
}

/// Runs the queries of one body with a connection that sees the rows of a user
/// alone. Without a restriction they are no transaction.
#[macro_export]
macro_rules! on_user_rows {
    ($db:expr, $user:expr, |$name:ident| $body:expr) => {
        match $db.restriction($user.0) {
            None => $crate::on_conn!($db.reader(), |$name| $body),
            Some(_) => {
                async {
                    $crate::in_user_tx!($db, $user, async |$name| -> Result<_, $crate::DbError> {
                        Ok($body)
                    })
                }
                .await
            }
        }
    };
}
