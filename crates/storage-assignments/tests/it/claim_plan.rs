//! Test that PostgreSQL claims runs in the order of their index.

use diesel::QueryableByName;
use diesel::sql_types::Text;
use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use pia_testkit::databases::TestDatabase;

use crate::fixture::create_person;

/// Statistics of a time when all assignments had ended: PostgreSQL expects that
/// none is due, and that any index of the unfinished ones has none either.
const ALL_ENDED: &str = "
    INSERT INTO assignments (id, user_id, skill_name, mode, status, step_count, tokens_spent,
        tokens_abandoned, created_at, updated_at, completed_at, fence, failed_attempts, restarts,
        event_count, skill)
        SELECT gen_random_uuid(), id, 'brief', 'Assistant', 'Completed', 3, 42, 0, now(), now(),
            now(), 1, 0, 0, 2, '{}'
        FROM accounts CROSS JOIN generate_series(1, 1000);
    ANALYZE assignments;";

const CLAIM: &str = "
    EXPLAIN SELECT id FROM assignments
    WHERE due_at <= now() AND (worker_id IS NULL OR NOT EXISTS (SELECT FROM assignment_workers
        WHERE assignment_workers.id = worker_id AND alive_until > now()))
    ORDER BY due_at, id LIMIT 1 FOR UPDATE SKIP LOCKED";

#[derive(QueryableByName)]
struct PlanLine {
    #[diesel(sql_type = Text, column_name = "QUERY PLAN")]
    line: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_sorts_no_runs_whatever_the_statistics() {
    let fresh = TestDatabase::postgres().await;
    create_person(&fresh.connect().await).await;
    let mut conn = AsyncPgConnection::establish(&fresh.url).await.unwrap();
    conn.batch_execute(ALL_ENDED).await.unwrap();

    let lines: Vec<PlanLine> = diesel::sql_query(CLAIM).load(&mut conn).await.unwrap();

    let plan: Vec<_> = lines.into_iter().map(|it| it.line).collect();
    assert!(plan.iter().any(|it| it.contains("using assignments_due")), "{plan:#?}");
    assert!(!plan.iter().any(|it| it.contains("Sort")), "{plan:#?}");
}
