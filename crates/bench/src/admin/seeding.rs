//! Users and audit entries, stored without the server.
//!
//! Entries are as old as their numbers, have positions that no real one has,
//! and nobody on their sides.

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
}

/// Seeds a database of PostgreSQL.
pub(super) fn postgres(session: &Session, Size { users, entries }: Size) -> Outcome<()> {
    session.run(&format!(
        "INSERT INTO accounts (id, email, email_folded, display_name, provider, customer_type, created_at)
            SELECT gen_random_uuid(), 'copy' || n || '@bench.example', 'copy' || n || '@bench.example',
                'Copy ' || n, 'local', 0, '2020-01-01'::timestamptz + n * interval '1 second'
            FROM generate_series(1, {users}) n;
        INSERT INTO audit_entries (id, at, action, object, request, position, link)
            SELECT gen_random_uuid(), '2020-01-01'::timestamptz + n * interval '1 year' / {entries},
                CASE WHEN n % 10000 = 7 THEN '{RARE_ACTION}' ELSE 'session.started' END,
                'group:' || n, n::text, 1000000000 + n, decode(md5(n::text), 'hex')
            FROM generate_series(1, {entries}) n;
        ANALYZE accounts; ANALYZE audit_entries;"
    ))?;
    session.run("CHECKPOINT")
}

/// Seeds a database of SQLite.
pub(super) fn sqlite(file: &Path, Size { users, entries }: Size) -> Outcome<()> {
    // 2020-01-01 in microseconds, and a year of them.
    const START: u64 = 1_577_836_800_000_000;
    const YEAR: u64 = 366 * 24 * 3_600_000_000;
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
        COMMIT;
        ANALYZE;
        PRAGMA wal_checkpoint(TRUNCATE);"
    ))?;
    Ok(())
}
