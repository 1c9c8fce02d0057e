//! Tests of database migrations by the binary.

use pia_server_testkit::program::Invocation;
use pia_testkit::databases::TestDatabase;

/// Returns a call that migrates, with no settings but the database.
fn migrating(database: &TestDatabase) -> Invocation {
    on(Invocation::bare().argument("--migrate-only"), database)
}

fn on(call: Invocation, database: &TestDatabase) -> Invocation {
    call.with("Database__Provider", database.provider().name())
        .with("Database__ConnectionString", &database.url)
}

async fn migrates_and_serves(database: TestDatabase) {
    let first_run = migrating(&database).run();
    let second_run = migrating(&database).run();

    let output = String::from_utf8_lossy(&first_run.stderr);
    assert!(first_run.status.success() && second_run.status.success(), "{output}");
    let program = on(Invocation::new().licensed(), &database).start().await;
    let ready = program.anonymous().get("/ready").await;
    assert_eq!(ready.status, 200, "{}", ready.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_migrated_without_any_secret() {
    migrates_and_serves(TestDatabase::empty_sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgresql_is_migrated_without_any_secret() {
    migrates_and_serves(TestDatabase::empty_postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgresql_is_not_migrated_by_the_serving_role() {
    let database = TestDatabase::empty_postgres().await;

    let error = on(Invocation::new(), &database).fails();

    assert!(error.contains("SVC-DB-001") && error.contains("--migrate-only"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn postgresql_is_migrated_at_the_start_by_the_migration_role() {
    let database = TestDatabase::empty_postgres().await;
    let call = on(Invocation::new().licensed(), &database);

    let program = call.with("Database__MigrationConnectionString", &database.url).start().await;

    assert_eq!(program.anonymous().get("/ready").await.status, 200);
}

#[test]
fn an_unreachable_database_is_reported_without_its_password() {
    let error = Invocation::new()
        .with("Database__Provider", "postgresql")
        .with("Database__ConnectionString", "postgres://pia:Zq81Zq81@127.0.0.1:1/pia")
        .fails();

    assert!(error.contains("SVC-DB-002"), "{error}");
    assert!(!error.contains("Zq81"), "{error}");
}
