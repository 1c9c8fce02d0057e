//! Lock of a folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::setup_error::VectorSetupError;

/// Name of the lock file within the folder; it stays when the lock is released.
const FILE: &str = "pia.lock";
/// Number of attempts, three seconds in total: a process that was killed releases its
/// lock only once it has ended.
const MAX_ATTEMPTS: u32 = 30;
const ATTEMPT_INTERVAL: Duration = Duration::from_millis(100);

/// Locks a folder for this process, until the file is dropped. Waits for a process that
/// is ending. Blocks.
pub(super) fn lock(folder: &Path) -> Result<File, VectorSetupError> {
    let file =
        OpenOptions::new().create(true).truncate(false).write(true).open(folder.join(FILE))?;
    let mut attempts = 1;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if attempts < MAX_ATTEMPTS => {
                thread::sleep(ATTEMPT_INTERVAL);
            }
            Err(TryLockError::WouldBlock) => return Err(VectorSetupError::InUse),
            Err(TryLockError::Error(err)) => return Err(err.into()),
        }
        attempts += 1;
    }
}
