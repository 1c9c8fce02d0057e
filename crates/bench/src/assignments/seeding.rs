//! Ended assignments, stored without the server.

use std::path::Path;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;

use crate::failure::Outcome;
use crate::installation::DATABASE_FILE;
use crate::postgres::Session;

/// Number of assignments of a user.
const OF_USER: usize = 1_000;
/// Memory for pages while SQLite fills its indexes.
const CACHE: &str = "PRAGMA cache_size = -500000";

/// Stores assignments with two events each: a thousand of each user that exists,
/// and of as many others as are needed.
pub(super) fn seed(dir: &Path, postgres: Option<&str>, rows: usize, users: usize) -> Outcome<()> {
    let others = rows.div_ceil(OF_USER).saturating_sub(users);
    if let Some(url) = postgres {
        let session = Session::open(url)?;
        let id = |number: &str| format!("lpad(({number})::text, 32, '0')::uuid");
        session.run(&statements(others, id, "'2020-01-01'::timestamptz"))?;
        // Not within a transaction, as several statements would be.
        session.run("VACUUM ANALYZE assignments, assignment_events")?;
        return session.run("CHECKPOINT");
    }

    let mut connection = SqliteConnection::establish(&dir.join(DATABASE_FILE).to_string_lossy())?;
    let id = |number: &str| format!("CAST(printf('%016d', {number}) AS BLOB)");
    connection.batch_execute(&format!(
        "{CACHE}; PRAGMA busy_timeout = 60000; BEGIN IMMEDIATE; {} COMMIT; ANALYZE;
        PRAGMA wal_checkpoint(TRUNCATE);",
        statements(others, id, "1577836800000000")
    ))?;

    Ok(())
}

/// Returns the statements for either database: with its expressions for the id with
/// a number, and for a time. Ids ascend, as those of the server do.
fn statements(others: usize, id: impl Fn(&str) -> String, time: &str) -> String {
    let numbers = |to: usize| {
        format!(
            "(WITH RECURSIVE counted (n) AS
                (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < {to})
            SELECT n FROM counted WHERE n <= {to}) AS numbers"
        )
    };

    let copies = numbers(others);
    let of_user = numbers(OF_USER);
    let account = id("n");
    let assignment = id(&format!("place * {OF_USER} + n"));
    let event = id("ROW_NUMBER() OVER ()");
    format!(
        "INSERT INTO accounts (id, email, email_folded, provider, customer_type, created_at, role)
            SELECT {account}, 'copy' || n || '@bench.example', 'copy' || n || '@bench.example',
                'local', 0, {time}, 'User' FROM {copies};
        INSERT INTO assignments (id, user_id, skill_name, mode, status, step_count, tokens_spent,
            tokens_abandoned, created_at, updated_at, completed_at, fence, failed_attempts, restarts,
            event_count, skill)
            SELECT {assignment}, users.id, 'brief', 'Assistant', 'Completed', 3, 42, 0, {time},
                {time}, {time}, 1, 0, 0, 2, '{{}}'
            FROM (SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS place FROM accounts) AS users
                CROSS JOIN {of_user} ORDER BY place, n;
        INSERT INTO assignment_events (id, assignment_id, ordinal, key, kind, message, created_at)
            SELECT {event}, id, ordinal, kind, kind, 'An event of before.', {time}
            FROM assignments CROSS JOIN
                (SELECT 1 AS ordinal, 'queued' AS kind UNION ALL SELECT 2, 'completed') AS events;"
    )
}
