//! Database that the benchmark itself uses, without a server around it.

use std::path::Path;

use pia_kernel::{LiveSetting, Secret};
use pia_sealing::{MasterKeys, ServerSeal};
use pia_storage::{
    Database, DatabaseKind, DatabaseOptions, DatabaseTarget, Startup, migrate, start,
};

use crate::failure::Outcome;
use crate::installation::DATABASE_FILE;

/// Returns the master key of the databases.
pub(crate) fn master_keys() -> MasterKeys {
    MasterKeys { current: Secret::new([7; 32]), previous: None }
}

/// Opens a new database: of PostgreSQL, or of SQLite in a folder.
pub(crate) async fn open(dir: &Path, postgres: Option<&str>) -> Outcome<Database> {
    let own = format!("sqlite://{}", dir.join(DATABASE_FILE).display());
    let (kind, url) =
        postgres.map_or((DatabaseKind::Sqlite, &*own), |it| (DatabaseKind::Postgres, it));
    let target = DatabaseTarget::parse(kind, url)?;
    migrate(&target).await?;
    let options = DatabaseOptions::default();
    let startup = Startup { target, migration_target: None, maintenance_target: None, options };
    let db = start(startup).await?;
    Ok(db.with_effects(ServerSeal::new(master_keys()), LiveSetting::new(false)))
}
