//! Users, audit entries and AI calls, stored without the server.
//!
//! Entries are as old as their numbers, have positions that no real one has,
//! and the stored users as their actors.

use std::path::Path;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;

use crate::failure::Outcome;
use crate::postgres::Session;

/// Action of one entry in ten thousand.
pub(super) const RARE_ACTION: &str = "Group.Created";

/// Number of rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) users: usize,
    pub(super) entries: usize,
    pub(super) calls: usize,
}

/// Migrations of PostgreSQL that sum up the stored calls.
const POSTGRES_SUMS: [&str; 4] = [
    include_str!("../../../../migrations/postgres/2026-11-26-000420_usage_by_day/up.sql"),
    include_str!("../../../../migrations/postgres/2026-11-27-000450_usage_users/up.sql"),
    include_str!("../../../../migrations/postgres/2026-11-27-000510_usage_days/up.sql"),
    include_str!("../../../../migrations/postgres/2026-11-27-000550_usage_by_hour/up.sql"),
];

/// Migrations of SQLite that sum up the stored calls.
const SQLITE_SUMS: [&str; 4] = [
    include_str!("../../../../migrations/sqlite/2026-11-26-000420_usage_by_day/up.sql"),
    include_str!("../../../../migrations/sqlite/2026-11-27-000450_usage_users/up.sql"),
    include_str!("../../../../migrations/sqlite/2026-11-27-000510_usage_days/up.sql"),
    include_str!("../../../../migrations/sqlite/2026-11-27-000550_usage_by_hour/up.sql"),
];

/// Returns the statements of migrations that fill the tables which they created.
fn backfill(migrations: [&str; 4]) -> Outcome<String> {
    let mut statements = String::new();
    for migration in migrations {
        let start = migration.find("INSERT INTO").ok_or("a migration fills no table")?;
        statements.push_str(migration.get(start..).unwrap_or_default());
    }
    Ok(statements)
}

/// Seeds a database of PostgreSQL. Statements are planned by the tables that the ones
/// before have filled. Weeks of users lie one after the other, as calls store them.
pub(super) fn postgres(session: &Session, Size { users, entries, calls }: Size) -> Outcome<()> {
    session.run(&format!(
        "INSERT INTO accounts (id, email, email_folded, display_name, provider, customer_type, created_at)
            SELECT gen_random_uuid(), 'copy' || n || '@bench.example', 'copy' || n || '@bench.example',
                'Copy ' || n, 'local', 0, '2020-01-01'::timestamptz + n * interval '1 second'
            FROM generate_series(1, {users}) n;
        ANALYZE accounts;
        INSERT INTO audit_entries (id, at, action, object, request, position, link)
            SELECT gen_random_uuid(), '2020-01-01'::timestamptz + n * interval '1 year' / {entries},
                CASE WHEN n % 10000 = 7 THEN '{RARE_ACTION}' ELSE 'session.started' END,
                'group:' || n, n::text, 1000000000 + n, decode(md5(n::text), 'hex')
            FROM generate_series(1, {entries}) n;
        ANALYZE audit_entries;
        INSERT INTO audit_identities (entry_id, part, user_id)
            SELECT audit_entries.id, 'actor', ids[1 + (audit_entries.position % {users})::int]
            FROM audit_entries,
                (SELECT array_agg(id) AS ids FROM accounts WHERE email LIKE 'copy%') AS accounts
            WHERE audit_entries.position > 1000000000;
        INSERT INTO ai_usage (id, at, user_id, mode, provider, model, input_tokens,
            cached_input_tokens, output_tokens, estimated, outcome, group_id, spent_micros)
            SELECT gen_random_uuid(), now() - n * interval '90 days' / {calls}, ids[1 + n % {users}],
                'chat', 'openai', 'model-' || n % 7, 900, 100, 200, false,
                CASE WHEN n % 50 = 7 THEN 'failed' ELSE 'completed' END,
                '00000000-0000-7000-8000-000000000001', 1000
            FROM generate_series(1, {calls}) n,
                (SELECT array_agg(id) AS ids FROM accounts WHERE email LIKE 'copy%') AS accounts;
        ANALYZE ai_usage;
        {}
        CLUSTER usage_by_user USING usage_by_user_pkey;
        ANALYZE;",
        backfill(POSTGRES_SUMS)?
    ))?;
    session.run("CHECKPOINT")
}

/// Seeds a database of SQLite.
pub(super) fn sqlite(file: &Path, Size { users, entries, calls }: Size) -> Outcome<()> {
    // 2020-01-01 in microseconds, and a year of them.
    const START: u64 = 1_577_836_800_000_000;
    const DAY: u64 = 24 * 3_600_000_000;
    const YEAR: u64 = 366 * DAY;

    let mut connection = SqliteConnection::establish(&file.to_string_lossy())?;
    connection.batch_execute(&format!(
        "PRAGMA busy_timeout = 60000; PRAGMA journal_mode = WAL;
        BEGIN IMMEDIATE;
        INSERT INTO accounts (id, email, email_folded, display_name, provider, customer_type, created_at)
            WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {users})
            SELECT randomblob(16), 'copy' || n || '@bench.example', 'copy' || n || '@bench.example',
                'Copy ' || n, 'local', 0, {START} + n * 1000000 FROM numbers;
        INSERT INTO audit_entries (id, at, action, object, request, position, link)
            WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {entries})
            SELECT randomblob(16), {START} + n * ({YEAR} / {entries}),
                CASE WHEN n % 10000 = 7 THEN '{RARE_ACTION}' ELSE 'session.started' END,
                'group:' || n, CAST(n AS TEXT), 1000000000 + n, randomblob(32) FROM numbers;
        CREATE TEMP TABLE copies AS SELECT row_number() OVER () - 1 AS place, id FROM accounts
            WHERE email LIKE 'copy%';
        INSERT INTO audit_identities (entry_id, part, user_id)
            SELECT audit_entries.id, 'actor', copies.id FROM audit_entries
                JOIN copies ON copies.place = audit_entries.position % {users}
            WHERE audit_entries.position > 1000000000;
        INSERT INTO ai_usage (id, at, user_id, mode, provider, model, input_tokens,
            cached_input_tokens, output_tokens, estimated, outcome, group_id, spent_micros)
            WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {calls})
            SELECT randomblob(16), unixepoch() * 1000000 - n * (90 * {DAY} / {calls}), copies.id,
                'chat', 'openai', 'model-' || n % 7, 900, 100, 200, 0,
                CASE WHEN n % 50 = 7 THEN 'failed' ELSE 'completed' END,
                x'00000000000070008000000000000001', 1000
            FROM numbers JOIN copies ON copies.place = n % {users};
        {}
        COMMIT;
        ANALYZE;
        PRAGMA wal_checkpoint(TRUNCATE);",
        backfill(SQLITE_SUMS)?
    ))?;

    Ok(())
}
