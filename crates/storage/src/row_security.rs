//! Row-level security of PostgreSQL: requests see only the rows of their user.
//!
//! Migrations give some tables the policy `own_rows`. It has no effect until the server enables
//! it, which it does if requests and maintenance have database roles of their own:
//!
//! 1. `set_restricted` enables or disables the policies after migrations, as the tables' owner.
//! 2. `check` verifies the rights of both roles when a server starts.
//! 3. `restrict_to` names the user of a transaction; the policies compare each row with that user.
//!
//! Adapters of such tables use `in_user_tx!` and `on_user_rows!` instead of `in_tx!` and
//! `on_conn!`; work for all users uses [`Database::unrestricted`].

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

/// Tables that have the policy: a common table expression with which both queries begin.
const RESTRICTABLE_TABLES: &str = "
    WITH tables AS (
        SELECT relname, relowner, relrowsecurity, relforcerowsecurity
        FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid
        WHERE polname = 'own_rows' AND relnamespace = current_schema()::regnamespace
    )";

/// Query of the statements that enable the policies, or disable them. Tables that are already
/// in the requested state are left out, since each statement locks its table.
const SWITCHES: &str = "
    SELECT format(
        CASE WHEN $1
            THEN 'ALTER TABLE %I.%I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY'
            ELSE 'ALTER TABLE %I.%I DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY'
        END,
        current_schema(), relname) AS statement
    FROM tables WHERE relrowsecurity <> $1 OR relforcerowsecurity <> $1";

#[derive(QueryableByName)]
struct Switch {
    #[diesel(sql_type = Text)]
    statement: String,
}

/// Enables the policies, or disables them, as the owner of the tables. Returns the number of
/// tables that were changed.
pub(crate) fn set_restricted(
    conn: &mut AsyncConnectionWrapper<AsyncPgConnection>,
    is_restricted: bool,
) -> QueryResult<usize> {
    let switches = diesel::sql_query(format!("{RESTRICTABLE_TABLES}{SWITCHES}"))
        .bind::<Bool, _>(is_restricted)
        .load::<Switch>(conn)?;
    for Switch { statement } in &switches {
        conn.batch_execute(statement)?;
        tracing::info!(statement, "row-level security was changed");
    }
    Ok(switches.len())
}

/// Query of a connection's role, with the state of the tables.
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

/// Role of a connection, with the state of the tables.
#[derive(QueryableByName)]
struct Role {
    #[diesel(sql_type = Bool)]
    is_superuser: bool,
    /// True if it has `BYPASSRLS`.
    #[diesel(sql_type = Bool)]
    bypasses: bool,
    /// True if it owns a table, or is a member of its owner.
    #[diesel(sql_type = Bool)]
    owns_tables: bool,
    /// Tables whose policy is enabled.
    #[diesel(sql_type = Array<Text>)]
    restricted: Vec<String>,
    /// Tables whose policy is disabled, or does not apply to their owner.
    #[diesel(sql_type = Array<Text>)]
    unrestricted: Vec<String>,
}

impl Role {
    /// Returns whether no policy applies to the role.
    fn sees_all_rows(&self) -> bool {
        self.is_superuser || self.bypasses
    }
}

/// Checks the rights of the database roles. The policies must apply to a separate role for
/// requests, but not to the role of maintenance, which needs the rows of all users.
pub(crate) async fn check(db: &Database) -> Result<(), StartupError> {
    let Pools::Postgres(_) = &db.pools else { return Ok(()) };

    let request_role = load_role(db).await?;
    if db.maintenance.is_none() {
        return check_only_role(&request_role);
    }
    check_request_role(request_role)?;

    let maintenance_role = load_role(&db.unrestricted()).await?;
    if !maintenance_role.sees_all_rows() {
        return Err(StartupError::MaintenanceRole);
    }

    Ok(())
}

/// Checks a role that is used for both requests and maintenance.
fn check_only_role(role: &Role) -> Result<(), StartupError> {
    if role.sees_all_rows() || role.restricted.is_empty() {
        return Ok(());
    }
    Err(StartupError::NoMaintenanceRole)
}

/// Checks that all policies apply to the role of requests.
fn check_request_role(role: Role) -> Result<(), StartupError> {
    if role.is_superuser {
        return Err(StartupError::RequestRole("is a superuser"));
    }
    if role.bypasses {
        return Err(StartupError::RequestRole("has BYPASSRLS"));
    }
    if role.owns_tables {
        let reason = "owns the tables, or is a member of their owner";
        return Err(StartupError::RequestRole(reason));
    }
    if !role.unrestricted.is_empty() {
        return Err(StartupError::Unrestricted(role.unrestricted));
    }

    Ok(())
}

async fn load_role(db: &Database) -> Result<Role, StartupError> {
    query_role(db).await.map_err(crate::start::opening)
}

async fn query_role(db: &Database) -> Result<Role, DbError> {
    let query = diesel::sql_query(format!("{RESTRICTABLE_TABLES}{ROLE}"));
    match db.reader().await? {
        Conn::Sqlite(_) => Err(DbError::Unreadable("pg_roles")),
        Conn::Postgres(mut conn) => {
            Ok(diesel_async::RunQueryDsl::get_result::<Role>(query, &mut conn).await?)
        }
    }
}

diesel::define_sql_function! {
    /// Changes a setting, for the transaction in progress if `is_local`.
    fn set_config(name: Text, value: Text, is_local: Bool) -> Text;
}

/// Query that restricts the transaction in progress to the rows of a user. The policies read
/// the setting `pia.user_id`.
#[diesel::dsl::auto_type(no_type_alias)]
pub(crate) fn row_restriction(user: Uuid) -> _ {
    let user_id: String = user.to_string();
    diesel::dsl::select(set_config("pia.user_id", user_id, true))
}

connection_trait! {
    /// Connection whose transactions can be restricted to the rows of a user.
    pub trait RestrictRows {
        /// Restricts the transaction in progress to the rows of a user. Only for PostgreSQL:
        /// SQLite has no such settings.
        async fn restrict_to(&mut self, user: Uuid) -> Result<(), DbError> {
            diesel_async::RunQueryDsl::execute(row_restriction(user), self).await?;
            Ok(())
        }
    }
}

impl Database {
    /// Sets the pools of maintenance, whose role sees the rows of all users. With them, requests
    /// are restricted to the rows of their user.
    pub(crate) fn with_maintenance(mut self, maintenance: Option<Pools>) -> Self {
        self.maintenance = maintenance;
        self
    }

    /// Returns the database with the role of maintenance, which sees the rows of all users. If
    /// there is no such role, requests are not restricted, and the database is returned
    /// unchanged.
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

/// Runs one body in a write transaction of either backend, like [`in_tx!`](crate::in_tx), that
/// sees only the rows of a user if requests are restricted.
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

/// Runs the queries of one body with a connection, like [`on_conn!`](crate::on_conn), that sees
/// only the rows of a user if requests are restricted. The user is set for a transaction, so
/// restricted queries are run in one.
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
