//! The binary and its database: who may change the tables, and when.

use pia_server_testkit::program::Call;
use pia_testkit::databases::TestDatabase;

/// Returns the settings of a migration: the database, and nothing else.
fn migrating(database: &TestDatabase) -> Call {
    on(Call::bare().argument("--migrate-only"), database)
}

fn on(call: Call, database: &TestDatabase) -> Call {
    call.with("Database__Provider", database.provider().name())
        .with("Database__ConnectionString", &database.url)
}

async fn migrates_and_serves(database: TestDatabase) {
    let first = migrating(&database).run();
    let second = migrating(&database).run();

    let reported = String::from_utf8_lossy(&first.stderr);
    assert!(first.status.success() && second.status.success(), "{reported}");
    let program = on(Call::new().licensed(), &database).start().await;
    let ready = program.stranger().get("/ready").await;
    assert_eq!(ready.status, 200, "{}", ready.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_migrated_without_any_secret() {
    migrates_and_serves(TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgresql_is_migrated_without_any_secret() {
    migrates_and_serves(TestDatabase::empty_postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgresql_is_not_migrated_by_a_role_that_only_serves() {
    let database = TestDatabase::empty_postgres().await;

    let reported = on(Call::new(), &database).fails();

    assert!(reported.contains("SVC-DB-001") && reported.contains("--migrate-only"), "{reported}");
}

#[tokio::test(flavor = "multi_thread")]
async fn postgresql_is_migrated_at_the_start_by_the_role_that_may() {
    let database = TestDatabase::empty_postgres().await;
    let call = on(Call::new().licensed(), &database);

    let program = call.with("Database__MigrationConnectionString", &database.url).start().await;

    assert_eq!(program.stranger().get("/ready").await.status, 200);
}

#[test]
fn a_database_that_is_not_there_is_reported_without_its_password() {
    let reported = Call::new()
        .with("Database__Provider", "postgresql")
        .with("Database__ConnectionString", "postgres://pia:Zq81Zq81@127.0.0.1:1/pia")
        .fails();

    assert!(reported.contains("SVC-DB-002"), "{reported}");
    assert!(!reported.contains("Zq81"), "{reported}");
}
