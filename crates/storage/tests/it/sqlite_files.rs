//! The files of an embedded database.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use pia_storage::{
    Conn, Database, DbError, OpenError, Options, Provider, StartError, Startup, Target, on_conn,
    start,
};

async fn start_at(path: &Path) -> Result<Database, StartError> {
    let text = format!("Data Source={}", path.display());
    let target = Target::parse(Provider::Sqlite, &text).unwrap();
    start(Startup { target, migration_target: None, options: Options::default() }).await
}

async fn execute(db: &Database, sql: &str) -> Result<(), DbError> {
    on_conn!(db.writer(), |conn| Ok(conn.batch_execute(sql).await?))
}

#[tokio::test(flavor = "multi_thread")]
async fn only_its_owner_reads_the_file_and_those_beside_it() {
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
async fn only_what_may_be_lost_is_written_without_waiting_for_the_disk() {
    #[derive(diesel::QueryableByName)]
    struct Promise {
        #[diesel(sql_type = diesel::sql_types::Integer)]
        synchronous: i32,
    }
    const FULL: i32 = 2;
    const NORMAL: i32 = 1;
    let dir = tempfile::tempdir().unwrap();
    let db = start_at(&dir.path().join("pia.db")).await.unwrap();
    let of = async |conn: Result<Conn, DbError>| {
        let Conn::Sqlite(mut conn) = conn.unwrap() else { panic!("no file") };
        let asked = diesel::sql_query("PRAGMA synchronous");
        asked.get_result::<Promise>(&mut *conn).await.unwrap().synchronous
    };

    let first = of(db.writer().await).await;
    let counted = [of(db.counter().await).await, of(db.counter().await).await];
    let then = [of(db.writer().await).await, of(db.writer().await).await];

    assert_eq!((first, counted, then), (FULL, [NORMAL; 2], [FULL; 2]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_folder_is_named_and_not_made() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("missing");

    let refused = start_at(&folder.join("pia.db")).await.unwrap_err();

    assert!(matches!(refused, StartError::Open(OpenError::NoFolder(_))), "{refused}");
    assert!(refused.to_string().contains("/missing`"), "{refused}");
    assert!(!folder.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_takes_no_file_is_told() {
    let refused = start_at(Path::new("/proc/pia.db")).await.unwrap_err();

    assert!(matches!(refused, StartError::Open(OpenError::File(..))), "{refused}");
    assert!(refused.to_string().starts_with("SVC-DB-002: "), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_database_is_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let letter = dir.path().join("letter.txt");
    fs::write(&letter, "Dear Ada, ".repeat(1000)).unwrap();

    let folder = start_at(dir.path()).await.unwrap_err().to_string();
    let text = start_at(&letter).await.unwrap_err().to_string();

    assert!(folder.starts_with("SVC-DB-002: "), "{folder}");
    assert!(text.starts_with("SVC-DB-002: ") && text.contains("not a database"), "{text}");
    assert_eq!(fs::read_to_string(&letter).unwrap(), "Dear Ada, ".repeat(1000));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_through_a_reader_fails() {
    let dir = tempfile::tempdir().unwrap();
    let db = start_at(&dir.path().join("pia.db")).await.unwrap();

    let written: Result<(), DbError> =
        async { on_conn!(db.reader(), |conn| Ok(conn.batch_execute("DELETE FROM locks").await?)) }
            .await;

    assert!(written.is_err());
}
