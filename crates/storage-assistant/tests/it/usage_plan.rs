//! Test that PostgreSQL adds up the weeks of users in one process.

use diesel::QueryableByName;
use diesel::sql_types::Text;
use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use pia_testkit::databases::TestDatabase;

/// Costs at which PostgreSQL reads every table that permits it with parallel workers.
const WORKERS_ARE_FREE: &str = "
    SET parallel_setup_cost = 0;
    SET parallel_tuple_cost = 0;
    SET min_parallel_table_scan_size = 0;";

const SUM: &str = "EXPLAIN SELECT user_id, SUM(calls_0) FROM usage_by_user GROUP BY user_id";

#[derive(QueryableByName)]
struct PlanLine {
    #[diesel(sql_type = Text, column_name = "QUERY PLAN")]
    line: String,
}

async fn sums_with_workers(conn: &mut AsyncPgConnection) -> bool {
    let lines: Vec<PlanLine> = diesel::sql_query(SUM).load(conn).await.unwrap();
    lines.iter().any(|it| it.line.contains("Gather"))
}

#[tokio::test(flavor = "multi_thread")]
async fn weeks_of_users_are_added_up_without_workers_whatever_their_cost() {
    let fresh = TestDatabase::postgres().await;
    let mut conn = AsyncPgConnection::establish(&fresh.url).await.unwrap();
    conn.batch_execute(WORKERS_ARE_FREE).await.unwrap();

    assert!(!sums_with_workers(&mut conn).await);

    let permit_workers = "ALTER TABLE usage_by_user RESET (parallel_workers)";
    conn.batch_execute(permit_workers).await.unwrap();
    assert!(sums_with_workers(&mut conn).await);
}
