//! Contract tests of migrations at startup, and of refused starts.

use std::net::TcpListener;

use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use futures_util::future::join;
use pia_storage::{
    Database, DatabaseKind, DatabaseOptions, DatabaseTarget, Startup, StartupError, migrate,
    migrate_only, on_conn, start,
};
use pia_testkit::databases::TestDatabase;

const USAGE: &str = "2026-11-21-000400_ai_usage";

fn startup(test_db: &TestDatabase, migration_target: Option<DatabaseTarget>) -> Startup {
    let target = test_db.target();
    let options = DatabaseOptions::default();
    Startup { target, migration_target, maintenance_target: None, options }
}

async fn execute(url: &str, sql: &str) {
    let mut conn = AsyncPgConnection::establish(url).await.unwrap();
    conn.batch_execute(sql).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_migrations_are_rejected_without_a_migration_role() {
    let test_db = TestDatabase::empty_postgres().await;

    let message = start(startup(&test_db, None)).await.unwrap_err().to_string();

    assert!(message.starts_with("SVC-DB-001: "), "{message}");
    assert!(message.contains(USAGE), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_migrated_as_the_migration_role() {
    let test_db = TestDatabase::empty_postgres().await;

    let db = start(startup(&test_db, Some(test_db.target()))).await.unwrap();

    assert_eq!(db.pending().await.unwrap(), Vec::<String>::new());
    start(startup(&test_db, None)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_always_migrated() {
    let test_db = TestDatabase::empty_sqlite();

    let db = start(startup(&test_db, None)).await.unwrap();

    assert_eq!(db.pending().await.unwrap(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_that_start_at_once_migrate_once() {
    for test_db in [TestDatabase::empty_sqlite(), TestDatabase::empty_postgres().await] {
        let start_once = || start(startup(&test_db, Some(test_db.target())));

        let (first_start, second_start) = join(start_once(), start_once()).await;

        assert!(first_start.is_ok(), "{first_start:?}");
        assert!(second_start.is_ok(), "{second_start:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn migrating_only_returns_the_applied_migrations() {
    for test_db in [TestDatabase::empty_sqlite(), TestDatabase::empty_postgres().await] {
        let applied = migrate_only(&test_db.target(), None, None).await.unwrap();
        let applied_again =
            migrate_only(&test_db.target(), Some(&test_db.target()), None).await.unwrap();

        assert!(applied.iter().any(|it| it == USAGE), "{applied:?}");
        assert_eq!(applied_again, Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_migrated_by_a_later_version_is_accepted() {
    for test_db in [TestDatabase::sqlite(), TestDatabase::postgres().await] {
        let db = test_db.connect().await;
        let later = "INSERT INTO __diesel_schema_migrations (version) VALUES ('99991231000000')";
        execute_on(&db, later).await.unwrap();

        let outcome = start(startup(&test_db, None)).await;

        assert!(outcome.is_ok(), "{outcome:?}");
    }
}

async fn execute_on(db: &Database, sql: &str) -> Result<(), pia_storage::DbError> {
    on_conn!(db.writer(), |conn| conn.batch_execute(sql).await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_migration_is_reported_by_name() {
    let test_db = TestDatabase::empty_postgres().await;
    execute(&test_db.url, "CREATE TABLE ai_usage (id INTEGER)").await;

    let message = migrate(&test_db.target()).await.unwrap_err().to_string();

    assert!(message.starts_with("SVC-DB-003: "), "{message}");
    assert!(message.contains(USAGE), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_migration_leaves_a_file_unchanged() {
    let test_db = TestDatabase::empty_sqlite();
    let db = Database::open(&test_db.target(), DatabaseOptions::default()).unwrap();
    execute_on(&db, "CREATE TABLE ai_usage (id INTEGER)").await.unwrap();

    let err = start(startup(&test_db, None)).await.unwrap_err();

    assert!(matches!(err, StartupError::Migration(_)), "{err}");
    let pending = db.pending().await.unwrap();
    assert!(pending.iter().any(|it| it.ends_with("_accounts")), "{pending:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_server_is_reported_without_the_password() {
    // A port that the system never assigns as a free one.
    let text = "Host=127.0.0.1;Port=1;Username=pia;Password=hunter2";
    let target = DatabaseTarget::parse(DatabaseKind::Postgres, text).unwrap();
    let startup = Startup {
        target,
        migration_target: None,
        maintenance_target: None,
        options: DatabaseOptions::default(),
    };

    let refused = start(startup.clone()).await.unwrap_err();
    let unmigrated = migrate(&startup.target).await.unwrap_err();

    for message in [refused.to_string(), unmigrated.to_string(), format!("{refused:?}{startup:?}")]
    {
        assert!(!message.contains("hunter2"), "{message}");
    }
    assert!(refused.to_string().starts_with("SVC-DB-002: "), "{refused}");
    assert!(refused.to_string().contains("refused"), "{refused}");
    assert!(unmigrated.to_string().starts_with("SVC-DB-002: "), "{unmigrated}");
}

#[tokio::test(flavor = "multi_thread")]
async fn connecting_to_a_silent_server_times_out() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let text = format!("host=127.0.0.1 port={port} user=pia connect_timeout=1");
    let target = DatabaseTarget::parse(DatabaseKind::Postgres, &text).unwrap();

    let refused = migrate(&target).await.unwrap_err().to_string();

    assert!(refused.contains("no answer within 1 s"), "{refused}");
}
