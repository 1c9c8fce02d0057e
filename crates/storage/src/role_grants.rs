//! Roles of PostgreSQL, and grants of access to tables that another role owns.
//!
//! Migrations run as the owner of the tables. `migrations.rs` calls `grant_table_access`
//! afterwards for each other role, so that new tables are accessible.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_async::AsyncPgConnection;
use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;

use crate::target::DatabaseTarget;

/// Query of the required statements, formatted by the server so that it quotes
/// every name itself. Applied migrations are read-only, and audit entries are
/// never changed: they are added, chained, and deleted after their retention time.
const GRANTS: &str = "
    SELECT format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), $1) AS statement
    WHERE NOT has_schema_privilege($1, current_schema(), 'USAGE')
    UNION ALL
    SELECT format(
        'GRANT %s ON TABLE %I.%I TO %I',
        CASE tablename
            WHEN '__diesel_schema_migrations' THEN 'SELECT'
            WHEN 'audit_entries' THEN 'SELECT, INSERT, DELETE, UPDATE (position, link)'
            ELSE 'SELECT, INSERT, UPDATE, DELETE'
        END,
        schemaname, tablename, $1)
    FROM pg_tables
    WHERE schemaname = current_schema() AND tableowner = current_user";

/// Change of the restriction of requests to the rows of their user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Restriction {
    /// Tables stay as they are.
    #[default]
    Unchanged,
    /// Tables are restricted.
    Restricted,
    /// Restriction is lifted.
    Lifted,
}

/// Roles beside the one that owns the tables.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Roles<'a> {
    /// Role of requests.
    pub(crate) requests: Option<&'a str>,
    /// Role that sees the rows of all users.
    pub(crate) maintenance: Option<&'a str>,
    /// Change of the restriction of requests.
    pub(crate) restriction: Restriction,
}

#[derive(QueryableByName)]
struct Grant {
    #[diesel(sql_type = Text)]
    statement: String,
}

impl<'a> Roles<'a> {
    /// Returns the roles that connection strings name. With one for maintenance,
    /// requests are restricted.
    pub(crate) fn from_targets(
        target: &'a DatabaseTarget,
        maintenance: Option<&'a DatabaseTarget>,
    ) -> Self {
        let restriction =
            if maintenance.is_some() { Restriction::Restricted } else { Restriction::Unchanged };
        Self {
            requests: target.user(),
            maintenance: maintenance.and_then(DatabaseTarget::user),
            restriction,
        }
    }
}

/// Grants `role` the privileges that requests need. A failure is only logged:
/// access may have been granted in another way, and if not, the role fails as
/// soon as it looks for pending migrations.
pub(crate) fn grant_table_access(conn: &mut AsyncConnectionWrapper<AsyncPgConnection>, role: &str) {
    let granted = diesel::sql_query(GRANTS)
        .bind::<Text, _>(role)
        .load::<Grant>(conn)
        .and_then(|all| all.iter().try_for_each(|it| conn.batch_execute(&it.statement)));
    if let Err(err) = granted {
        tracing::warn!(error = %err, "failed to grant table privileges to the runtime role");
    }
}
