//! Ended assignments, stored without the server.

use std::path::Path;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;

use crate::failure::Outcome;
use crate::installation::DATABASE_FILE;
use crate::postgres::Session;

/// Number of assignments of a user.
const OF_USER: usize = 1_000;

/// Stores assignments with two events each, of users who have a thousand each.
pub(super) fn seed(dir: &Path, postgres: Option<&str>, rows: usize) -> Outcome<()> {
    let users = rows.div_ceil(OF_USER);
    if let Some(url) = postgres {
        let session = Session::open(url)?;
        session.run(&statements(users, "gen_random_uuid()", "'2020-01-01'::timestamptz"))?;
        return session.run("VACUUM ANALYZE assignments, assignment_events; CHECKPOINT");
    }
    let mut connection = SqliteConnection::establish(&dir.join(DATABASE_FILE).to_string_lossy())?;
    connection.batch_execute(&format!(
        "PRAGMA busy_timeout = 60000; BEGIN IMMEDIATE; {} COMMIT; ANALYZE;
        PRAGMA wal_checkpoint(TRUNCATE);",
        statements(users, "randomblob(16)", "1577836800000000")
    ))?;
    Ok(())
}

/// Returns the statements for either database: with its expressions for an id and
/// for a time.
fn statements(users: usize, id: &str, time: &str) -> String {
    let numbers = |to: usize| {
        format!(
            "(WITH RECURSIVE counted (n) AS
                (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < {to})
            SELECT n FROM counted) AS numbers"
        )
    };
    let (users, of_user) = (numbers(users), numbers(OF_USER));
    format!(
        "INSERT INTO accounts (id, email, email_folded, provider, customer_type, created_at, role)
            SELECT {id}, 'copy' || n || '@bench.example', 'copy' || n || '@bench.example', 'local', 0,
                {time}, 'User' FROM {users};
        INSERT INTO assignments (id, user_id, skill_name, mode, status, step_count, tokens_spent,
            tokens_abandoned, created_at, updated_at, completed_at, fence, failed_attempts, restarts,
            event_count, skill)
            SELECT {id}, accounts.id, 'brief', 'Assistant', 'Completed', 3, 42, 0, {time}, {time},
                {time}, 1, 0, 0, 2, '{{}}'
            FROM accounts CROSS JOIN {of_user} WHERE email LIKE 'copy%';
        INSERT INTO assignment_events (id, assignment_id, ordinal, key, kind, message, created_at)
            SELECT {id}, id, 1, 'queued', 'queued', 'Waiting for a worker.', {time}
            FROM assignments WHERE skill = '{{}}';
        INSERT INTO assignment_events (id, assignment_id, ordinal, key, kind, message, created_at)
            SELECT {id}, id, 2, 'completed', 'completed', 'Completed.', {time}
            FROM assignments WHERE skill = '{{}}';"
    )
}
