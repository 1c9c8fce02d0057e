//! Tests that PostgreSQL itself keeps the rows of users apart.

use diesel::sql_types::{BigInt, Text};
use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use pia_testkit::databases::TestDatabase;

use crate::fixture::{create_person, queue_assignment};
use crate::schedules;

const COUNT: &str = "(SELECT count(*) FROM assignments) * 100 + \
                     (SELECT count(*) FROM assignment_events) * 10 + \
                     (SELECT count(*) FROM assignment_schedules)";

async fn visible(conn: &mut AsyncPgConnection) -> i64 {
    let count = diesel::select(diesel::dsl::sql::<BigInt>(COUNT));
    count.get_result(conn).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_without_a_condition_sees_the_rows_of_its_user_alone() {
    let fresh = TestDatabase::with_roles().await;
    let db = fresh.connect().await;
    let first = create_person(&db).await;
    let second = create_person(&db).await;
    for user in [first, first, second] {
        queue_assignment(&db, user, 1).await;
        schedules::create_schedule(&db, user, None).await;
    }
    let mut conn = AsyncPgConnection::establish(&fresh.url).await.unwrap();

    let before = visible(&mut conn).await;
    conn.batch_execute("BEGIN").await.unwrap();
    diesel::sql_query("SELECT set_config('pia.user_id', $1, true)")
        .bind::<Text, _>(first.to_string())
        .execute(&mut conn)
        .await
        .unwrap();
    let own = visible(&mut conn).await;
    let updated = diesel::sql_query("UPDATE assignments SET restarts = restarts + 1")
        .execute(&mut conn)
        .await
        .unwrap();
    let steal = format!("UPDATE assignments SET user_id = '{second}'");
    let stolen = conn.batch_execute(&steal).await;
    conn.batch_execute("ROLLBACK").await.unwrap();
    let after = visible(&mut conn).await;

    assert_eq!(before, 0);
    assert_eq!(own, 222);
    assert_eq!(after, 0);
    assert_eq!(updated, 2);
    assert!(stolen.is_err(), "an assignment was moved to another user");
}
