//! Tests of row-level security: which roles it needs.

use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use pia_storage::{DatabaseKind, DatabaseOptions, DatabaseTarget, Startup, migrate_only, start};
use pia_testkit::databases::TestDatabase;

const OWNER: &str = "postgres";
const REQUESTS: &str = "test_requests";
const MAINTENANCE: &str = "test_maintenance";

fn target(fresh: &TestDatabase, role: &str) -> DatabaseTarget {
    let url = fresh.url.replace("test_requests@", &format!("{role}@"));
    DatabaseTarget::parse(DatabaseKind::Postgres, &url).unwrap()
}

/// Starts with these roles of requests, migrations and maintenance. Returns the
/// code and text of a refusal.
async fn refusal(fresh: &TestDatabase, roles: [Option<&str>; 3]) -> Option<String> {
    let [requests, migration_target, maintenance_target] =
        roles.map(|it| it.map(|role| target(fresh, role)));
    let startup = Startup {
        target: requests.unwrap(),
        migration_target,
        maintenance_target,
        options: DatabaseOptions::default(),
    };
    start(startup).await.err().map(|it| it.to_string())
}

async fn execute(fresh: &TestDatabase, sql: &str) {
    let [owner, _] = fresh.roles.as_ref().unwrap();
    let mut conn = AsyncPgConnection::establish(owner).await.unwrap();
    conn.batch_execute(sql).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_that_are_not_restricted_are_refused() {
    let fresh = TestDatabase::with_roles().await;
    let valid_roles = [Some(REQUESTS), Some(OWNER), Some(MAINTENANCE)];
    let owner_name = format!("owner_{}", fresh.url.rsplit('_').next().unwrap());
    let role =
        format!("CREATE ROLE {owner_name} LOGIN; ALTER TABLE assignments OWNER TO {owner_name}");

    assert_eq!(refusal(&fresh, valid_roles).await, None);
    let superuser = refusal(&fresh, [Some(OWNER), Some(OWNER), Some(MAINTENANCE)]).await.unwrap();
    let bypassing_roles = [Some(MAINTENANCE), Some(OWNER), Some(MAINTENANCE)];
    let bypassing = refusal(&fresh, bypassing_roles).await.unwrap();
    let maintenance = refusal(&fresh, [Some(REQUESTS), Some(OWNER), Some(REQUESTS)]).await.unwrap();
    execute(&fresh, &role).await;
    let owning_roles = [Some(owner_name.as_str()), Some(OWNER), Some(MAINTENANCE)];
    let owning = refusal(&fresh, owning_roles).await.unwrap();

    assert!(superuser.starts_with("SVC-DB-004") && superuser.contains("superuser"), "{superuser}");
    assert!(bypassing.starts_with("SVC-DB-004") && bypassing.contains("BYPASSRLS"), "{bypassing}");
    assert!(owning.starts_with("SVC-DB-004") && owning.contains("owns"), "{owning}");
    assert!(maintenance.starts_with("SVC-DB-006"), "{maintenance}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_restriction_follows_the_role_for_maintenance() {
    let fresh = TestDatabase::with_roles().await;
    let without_owner = [Some(REQUESTS), None, Some(MAINTENANCE)];
    let grants = "GRANT SELECT ON ALL TABLES IN SCHEMA public TO test_requests, test_maintenance";
    execute(&fresh, grants).await;

    let not_yet = refusal(&fresh, without_owner).await.unwrap();
    let requests = target(&fresh, REQUESTS);
    let owner = target(&fresh, OWNER);
    let maintenance = target(&fresh, MAINTENANCE);
    migrate_only(&requests, Some(&owner), Some(&maintenance)).await.unwrap();
    let restricted = refusal(&fresh, without_owner).await;
    let forgotten = refusal(&fresh, [Some(REQUESTS), None, None]).await.unwrap();
    migrate_only(&requests, Some(&owner), None).await.unwrap();
    let lifted = refusal(&fresh, [Some(REQUESTS), None, None]).await;

    assert!(not_yet.starts_with("SVC-DB-005"), "{not_yet}");
    assert!(not_yet.contains("assignment_events, assignment_schedules, assignments"), "{not_yet}");
    assert!(forgotten.starts_with("SVC-DB-007"), "{forgotten}");
    assert_eq!(restricted, None);
    assert_eq!(lifted, None);
}
