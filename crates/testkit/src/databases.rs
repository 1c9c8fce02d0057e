//! A fresh database of each kind, and tests that run on both.
//!
//! `contract!(case, …)` generates two tests for each function
//! `async fn case(db: Database)`. The schema is migrated once a process; each test
//! copies the result.

#![expect(clippy::expect_used, reason = "for tests")]

use std::fs;
use std::sync::OnceLock;
use std::thread;

use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use pia_kernel::{LiveSetting, Secret};
use pia_sealing::{MasterKeys, ServerSeal};
use pia_storage::{
    Database, DatabaseKind, DatabaseOptions, DatabaseTarget, Startup, Synchronous, migrate, start,
};
use tempfile::TempDir;
use tokio::runtime;
use tokio::sync::OnceCell;
use uuid::Uuid;

/// Generates a test of each case for each backend.
#[macro_export]
macro_rules! contract {
    ($($case:ident),* $(,)?) => {
        mod sqlite {$(
            #[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                let fresh = $crate::databases::TestDatabase::sqlite();
                super::$case(fresh.connect().await).await;
            }
        )*}
        mod postgres {$(
            #[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                let fresh = $crate::databases::TestDatabase::postgres().await;
                super::$case(fresh.connect().await).await;
            }
        )*}
    };
}

/// Generates a test of each case for each backend, and for PostgreSQL with roles
/// of its own for requests and maintenance.
#[macro_export]
macro_rules! contract_with_roles {
    ($($case:ident),* $(,)?) => {
        $crate::contract!($($case),*);
        mod postgres_with_roles {$(
            #[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                let fresh = $crate::databases::TestDatabase::with_roles().await;
                super::$case(fresh.connect().await).await;
            }
        )*}
    };
}

/// Creates the roles of the cluster, unless another test has.
const ROLES: &str = "
    DO $$ BEGIN
        CREATE ROLE test_requests LOGIN;
        CREATE ROLE test_maintenance LOGIN BYPASSRLS;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
        NULL;
    END $$;";

/// Database in the cluster that this process copies its databases from, as copying is
/// faster than migrating.
static POSTGRES_TEMPLATE: OnceCell<TestDatabase> = OnceCell::const_new();
/// Contents of a migrated file, for the same reason.
static SQLITE_TEMPLATE: OnceLock<Vec<u8>> = OnceLock::new();

/// Beginning of the connection string of a file, before its path.
const SQLITE_SCHEME: &str = "sqlite://";

/// Database of a single test, removed on drop.
pub struct TestDatabase {
    /// Connection string of the database.
    pub url: String,
    /// Connection strings of the owner of its tables, and of the role that sees
    /// the rows of all users, if these are not the same.
    pub roles: Option<[String; 2]>,
    provider: DatabaseKind,
    _removal: Removal,
}

/// Removes a database on drop.
enum Removal {
    /// The folder of its file.
    Folder { _dir: TempDir },
    /// The database in the cluster: hundreds of them would fill a disk.
    Cluster { name: String },
}

impl Drop for Removal {
    fn drop(&mut self) {
        let Self::Cluster { name } = self else { return };
        let drop_database = format!("DROP DATABASE {name} WITH (FORCE)");
        // A failure was printed by the thread, and a panic here would abort.
        drop(on_thread(async move { run_in_cluster(&drop_database).await }));
    }
}

impl TestDatabase {
    /// Creates a migrated database in a file.
    pub fn sqlite() -> Self {
        let template = SQLITE_TEMPLATE.get_or_init(|| {
            let empty = Self::empty_sqlite();
            let target = empty.target();
            let migrated = on_thread(async move { migrate(&target).await });
            migrated.expect("no panic").expect("a migrated database");
            fs::read(empty.file()).expect("a file")
        });

        let database = Self::empty_sqlite();
        fs::write(database.file(), template).expect("a file");
        database
    }

    /// Returns a database in a file that does not exist yet.
    pub fn empty_sqlite() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let url = format!("{SQLITE_SCHEME}{}/test.db", dir.path().display());
        Self {
            url,
            roles: None,
            provider: DatabaseKind::Sqlite,
            _removal: Removal::Folder { _dir: dir },
        }
    }

    fn file(&self) -> &str {
        self.url.strip_prefix(SQLITE_SCHEME).expect("a database in a file")
    }

    /// Creates a migrated database in the cluster that `TEST_POSTGRES_URL`
    /// names.
    pub async fn postgres() -> Self {
        let template = POSTGRES_TEMPLATE.get_or_init(|| async {
            let empty = Self::empty_postgres().await;
            migrate(&empty.target()).await.expect("a migrated database");
            empty
        });
        let name = template.await.url.rsplit('/').next().unwrap_or_default();
        Self::create(&format!("TEMPLATE {name}")).await
    }

    /// Creates a migrated database there whose connection string names a role that
    /// sees the rows of one user at a time.
    pub async fn with_roles() -> Self {
        let owned = Self::postgres().await;
        let mut owner = AsyncPgConnection::establish(&owned.url).await.expect("a connection");
        owner.batch_execute(ROLES).await.expect("roles");
        let role = |name| owned.url.replace("postgres@", &format!("{name}@"));
        let url = role("test_requests");
        let maintenance = role("test_maintenance");
        Self { url, roles: Some([owned.url.clone(), maintenance]), ..owned }
    }

    /// Creates a database without tables in that cluster.
    pub async fn empty_postgres() -> Self {
        Self::create("TEMPLATE template0").await
    }

    /// Returns the target that the connection string names.
    pub fn target(&self) -> DatabaseTarget {
        DatabaseTarget::parse(self.provider, &self.url).expect("a connection string")
    }

    /// Returns the kind of the database.
    pub fn provider(&self) -> DatabaseKind {
        self.provider
    }

    /// Migrates and opens the database.
    pub async fn connect(&self) -> Database {
        // Durability is not needed, and syncing to disk is slow.
        let options =
            DatabaseOptions { synchronous: Synchronous::Normal, ..DatabaseOptions::default() };
        let [owner, maintenance] = self.roles.as_ref().map_or([None, None], |it| {
            it.each_ref().map(|url| DatabaseTarget::parse(self.provider, url).ok())
        });

        let startup = Startup {
            target: self.target(),
            migration_target: owner,
            maintenance_target: maintenance,
            options,
        };

        start(startup).await.expect("a database").with_effects(seal(), LiveSetting::new(true))
    }

    async fn create(template: &str) -> Self {
        let name = format!("t_{}", Uuid::now_v7().simple());
        run_in_cluster(&format!("CREATE DATABASE {name} {template}")).await;
        let url = format!("{}/{name}", cluster());
        let removal = Removal::Cluster { name };
        Self { url, roles: None, provider: DatabaseKind::Postgres, _removal: removal }
    }
}

/// Runs a future to its end on a thread with a runtime of its own: the caller may be
/// on a thread of a runtime, which must not block on a future.
fn on_thread<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> thread::Result<T> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    thread::spawn(move || runtime.block_on(future)).join()
}

async fn run_in_cluster(statement: &str) {
    let mut admin = AsyncPgConnection::establish(&format!("{}/postgres", cluster()))
        .await
        .expect("the cluster that TEST_POSTGRES_URL names");
    admin.batch_execute(statement).await.expect("the statement");
}

/// Returns the keys that databases of [`TestDatabase::connect`] seal with.
pub fn seal() -> ServerSeal {
    ServerSeal::new(MasterKeys { current: Secret::new([7; 32]), previous: None })
}

fn cluster() -> String {
    #[expect(clippy::disallowed_methods, reason = "a test reads the environment itself")]
    let cluster = std::env::var("TEST_POSTGRES_URL");
    cluster.expect("TEST_POSTGRES_URL is not set: run `cargo xtask test`, which starts PostgreSQL")
}
