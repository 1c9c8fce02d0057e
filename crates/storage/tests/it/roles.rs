//! Tests of a runtime role beside the one that owns the tables.

use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use pia_storage::{DatabaseKind, DatabaseOptions, DatabaseTarget, Startup, start};
use pia_testkit::databases::TestDatabase;

#[tokio::test(flavor = "multi_thread")]
async fn the_runtime_role_may_use_the_tables_of_another_role() {
    let fresh = TestDatabase::empty_postgres().await;
    let role = format!("Req {}", fresh.url.rsplit('_').next().unwrap());
    let mut owner = AsyncPgConnection::establish(&fresh.url).await.unwrap();
    owner.batch_execute(&format!("CREATE ROLE \"{role}\" LOGIN")).await.unwrap();
    let url = fresh.url.replace("postgres@", &format!("{}@", role.replace(' ', "%20")));
    let startup = Startup {
        target: DatabaseTarget::parse(DatabaseKind::Postgres, &url).unwrap(),
        migration_target: Some(fresh.target()),
        maintenance_target: None,
        options: DatabaseOptions::default(),
    };

    let started = start(startup).await;

    assert!(started.is_ok(), "{started:?}");
    let mut requests = AsyncPgConnection::establish(&url).await.unwrap();
    let mut may = async |sql| requests.batch_execute(sql).await.is_ok();
    assert!(may("DELETE FROM accounts").await);
    assert!(may("UPDATE locks SET turn = turn + 1").await);
    assert!(may("SELECT count(*) FROM audit_entries").await);
    assert!(may("DELETE FROM audit_entries").await);
    assert!(may("UPDATE audit_entries SET position = 1, link = '\\x00'").await);
    assert!(!may("UPDATE audit_entries SET action = 'other'").await);
    assert!(!may("DELETE FROM __diesel_schema_migrations").await);
    assert!(!may("CREATE TABLE mine (id INTEGER)").await);
}
