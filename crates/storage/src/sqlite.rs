//! Opening of one connection to a file.
//!
//! `prepare` creates the file before the pools are built; `open` is called for each
//! connection, with the pragmas of its purpose.

use std::fs::{OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::result::Error::DatabaseError;
use diesel::sqlite::SqliteConnection;
use diesel::{Connection, ConnectionError, ConnectionResult};

use crate::error::OpenDatabaseError;
use crate::text_search::register_lower;

/// `secure_delete`, because a deleted account's text would stay in free pages.
pub(crate) const SQLITE_WRITES: &str = "
    PRAGMA busy_timeout = 5000;
    PRAGMA journal_mode = WAL;
    PRAGMA foreign_keys = ON;
    PRAGMA secure_delete = ON;";
/// Time that a statement waits for other users of the file.
pub(crate) const SQLITE_BUSY: &str = "PRAGMA busy_timeout = 5000;";

/// File mode readable by the owner alone. SQLite gives the files beside it the same.
const OWNER_ONLY: u32 = 0o600;

/// Number of attempts on a busy file, and the time between them.
const MAX_ATTEMPTS: u32 = 250;
const ATTEMPT_INTERVAL: Duration = Duration::from_millis(20);

/// Creates the file if it is missing, or returns why that is not possible.
/// Returns its absolute path, which SQLite cannot mistake for anything else.
pub(crate) fn prepare(path: &Path) -> Result<String, OpenDatabaseError> {
    let failed = |err: io::Error| OpenDatabaseError::File(path.to_owned(), err.to_string());
    let absolute: PathBuf = std::path::absolute(path).map_err(failed)?;
    if let Some(folder) = absolute.parent().filter(|it| !it.is_dir()) {
        return Err(OpenDatabaseError::NoFolder(folder.to_owned()));
    }

    let mut options = OpenOptions::new();
    match options.write(true).create_new(true).mode(OWNER_ONLY).open(&absolute) {
        Ok(file) => {
            // The process's umask may have taken bits that the owner needs.
            file.set_permissions(Permissions::from_mode(OWNER_ONLY)).map_err(failed)?;
            // Never closed: that would drop the locks which other connections
            // of this process may have on the file by then.
            std::mem::forget(file);
        }
        // Not opened, for the same reason.
        Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {}
        Err(err) => return Err(failed(err)),
    }

    absolute.into_os_string().into_string().map_err(|_path| {
        OpenDatabaseError::File(path.to_owned(), "its path is not valid UTF-8".to_owned())
    })
}

/// Opens a connection, set up by `pragmas`. Blocks.
pub(crate) fn open(path: &str, pragmas: &str) -> ConnectionResult<SqliteConnection> {
    let mut conn = SqliteConnection::establish(path)?;
    register_lower(&mut conn).map_err(ConnectionError::CouldntSetupConfiguration)?;
    let mut attempts = 1;
    loop {
        match conn.batch_execute(pragmas) {
            // Unlike statements, the change to WAL does not wait for locks: two
            // connections that open a new file at once conflict.
            Err(err) if is_busy(&err) && attempts < MAX_ATTEMPTS => {
                std::thread::sleep(ATTEMPT_INTERVAL);
            }
            done => break done.map_err(ConnectionError::CouldntSetupConfiguration)?,
        }
        attempts += 1;
    }

    Ok(conn)
}

fn is_busy(err: &diesel::result::Error) -> bool {
    matches!(err, DatabaseError(_, info) if info.message() == "database is locked")
}
