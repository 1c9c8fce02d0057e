//! Tests of the files of an embedded database.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use pia_storage::{
    Database, DatabaseKind, DatabaseOptions, DatabaseTarget, DbError, OpenDatabaseError, Startup,
    StartupError, on_conn, start,
};

async fn start_at(path: &Path) -> Result<Database, StartupError> {
    let text = format!("Data Source={}", path.display());
    let target = DatabaseTarget::parse(DatabaseKind::Sqlite, &text).unwrap();
    start(Startup {
        target,
        migration_target: None,
        maintenance_target: None,
        options: DatabaseOptions::default(),
    })
    .await
}

async fn execute(db: &Database, sql: &str) -> Result<(), DbError> {
    on_conn!(db.writer(), |conn| conn.batch_execute(sql).await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_files_are_readable_by_their_owner_alone() {
    let dir = tempfile::tempdir().unwrap();

    let db = start_at(&dir.path().join("pia.db")).await.unwrap();
    execute(&db, "UPDATE locks SET turn = 1").await.unwrap();

    let mut modes: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|it| it.unwrap())
        .map(|it| (it.file_name(), it.metadata().unwrap().permissions().mode() & 0o777))
        .collect();
    modes.sort();
    let ours = ["pia.db", "pia.db-shm", "pia.db-wal"].map(|name| (name.into(), 0o600));
    assert_eq!(modes, ours);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_folder_is_reported_and_not_created() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("missing");

    let refused = start_at(&folder.join("pia.db")).await.unwrap_err();

    assert!(matches!(refused, StartupError::Open(OpenDatabaseError::NoFolder(_))), "{refused}");
    assert!(refused.to_string().contains("/missing`"), "{refused}");
    assert!(!folder.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unwritable_folder_is_reported() {
    let refused = start_at(Path::new("/proc/pia.db")).await.unwrap_err();

    assert!(matches!(refused, StartupError::Open(OpenDatabaseError::File(..))), "{refused}");
    assert!(refused.to_string().starts_with("SVC-DB-002: "), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_no_database_is_left_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let note = dir.path().join("letter.txt");
    fs::write(&note, "Dear Ada, ".repeat(1000)).unwrap();

    let folder = start_at(dir.path()).await.unwrap_err().to_string();
    let text = start_at(&note).await.unwrap_err().to_string();

    assert!(folder.starts_with("SVC-DB-002: "), "{folder}");
    assert!(text.starts_with("SVC-DB-002: ") && text.contains("not a database"), "{text}");
    assert_eq!(fs::read_to_string(&note).unwrap(), "Dear Ada, ".repeat(1000));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_through_a_reader_fails() {
    let dir = tempfile::tempdir().unwrap();
    let db = start_at(&dir.path().join("pia.db")).await.unwrap();

    let outcome: Result<(), DbError> =
        on_conn!(db.reader(), |conn| conn.batch_execute("DELETE FROM locks").await?);

    assert!(outcome.is_err());
}

#[derive(diesel::QueryableByName)]
struct CompileOption {
    #[diesel(sql_type = diesel::sql_types::Text)]
    compile_options: String,
}

/// Checks a build option of `.cargo/config.toml`, without which SQLite prepares every
/// query with a bound `LIMIT` anew.
#[tokio::test(flavor = "multi_thread")]
async fn plans_are_prepared_once() {
    let dir = tempfile::tempdir().unwrap();
    let db = start_at(&dir.path().join("pia.db")).await.unwrap();

    let query = diesel::sql_query("PRAGMA compile_options");
    let options: Result<Vec<CompileOption>, DbError> =
        on_conn!(db.reader(), |conn| query.load(conn).await?);

    assert!(options.unwrap().iter().any(|it| it.compile_options == "ENABLE_QPSG"));
}
