//! Lock of a folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use crate::setup_error::VectorSetupError;

/// Name of the lock file within the folder; it stays when the lock is released.
const FILE: &str = "pia.lock";

/// Locks a folder for this process, until the file is dropped.
pub(super) fn lock(folder: &Path) -> Result<File, VectorSetupError> {
    let file =
        OpenOptions::new().create(true).truncate(false).write(true).open(folder.join(FILE))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(VectorSetupError::InUse),
        Err(TryLockError::Error(err)) => Err(err.into()),
    }
}
