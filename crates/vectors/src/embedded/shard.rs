//! Shard of the engine.
//!
//! The engine writes each change into a log, but does not read that back when a
//! shard is loaded: a crash loses what was not flushed. So each change is
//! flushed before it is confirmed, those that wait at the same time with one
//! flush.
//!
//! A write takes two steps: `change` applies it under the lock `changes`, then `write`
//! flushes under the lock `flushed`, unless another thread has flushed it meanwhile.
//! If either fails, `is_dirty` remains set, and the next change reloads the shard.
//! Changes that were not flushed before then count as lost: their numbers reveal
//! them, and their writers get an error.

use std::fs::{self, File};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use parking_lot::{Mutex, MutexGuard};
use qdrant_edge::{EdgeShard, OperationError, UpdateOperation};

use super::{config, lock::lock, wal};
use crate::setup_error::VectorSetupError;

/// Number of written points after which a shard is reloaded: about 100 MiB of
/// its log.
const MAX_WRITTEN: usize = 20_000;

/// Shard of the engine, with the lock of its folder.
pub(super) struct Shard {
    folder: PathBuf,
    /// Engine; `None` after a reload has failed, until the next change.
    edge: RwLock<Option<EdgeShard>>,
    /// Changes since the shard was opened. Held for every change and every flush,
    /// since the engine panics if both happen at once.
    changes: Mutex<Changes>,
    /// Last change that is on the disk. Held by the one that flushes for all who
    /// wait.
    flushed: Mutex<ChangeNumber>,
    /// Lock of the folder; the last field, since it must outlive the others.
    _lock: File,
}

/// Changes of a shard.
#[derive(Debug, Default)]
struct Changes {
    /// Number of the last change that was applied.
    last: ChangeNumber,
    /// Number of points that were written since the shard was loaded.
    points: usize,
    /// True while one is in progress, and after one has failed: the next one begins
    /// with what is on the disk.
    is_dirty: bool,
}

/// Number of a change; those after a loss are higher than all before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct ChangeNumber {
    /// Number of earlier losses of changes, each because one change had failed.
    losses: u64,
    /// Number of changes up to it.
    count: u64,
}

impl Shard {
    /// Opens the shard of a folder, which is created if it is missing.
    pub(super) fn open(folder: &Path) -> Result<Self, VectorSetupError> {
        fs::create_dir_all(folder)?;
        let lock = lock(folder)?;
        config::check(folder)?;
        let edge = load(folder).map_err(|err| VectorSetupError::Engine(err.to_string()))?;
        Ok(Self {
            folder: folder.to_owned(),
            edge: RwLock::new(Some(edge)),
            changes: Mutex::default(),
            flushed: Mutex::default(),
            _lock: lock,
        })
    }

    /// Reads from the shard.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&EdgeShard) -> Result<T, OperationError>,
    ) -> Result<T, OperationError> {
        let edge = self.edge.read().unwrap_or_else(PoisonError::into_inner);
        edge.as_ref()
            .map_or_else(|| Err(OperationError::service_error("the shard is closed")), read)
    }

    /// Writes a change of a number of points, which are on the disk once this
    /// returns.
    pub(super) fn write(
        &self,
        points: usize,
        change: UpdateOperation,
    ) -> Result<(), OperationError> {
        let number = self.change(points, change)?;
        let mut flushed = self.flushed.lock();
        if *flushed >= number {
            return if flushed.losses == number.losses { Ok(()) } else { Err(lost()) };
        }

        let mut changes = self.changes.lock();
        if changes.is_dirty || changes.last.losses != number.losses {
            return Err(lost());
        }

        changes.is_dirty = true;

        self.read(|edge| {
            edge.flush();
            Ok(())
        })?;
        changes.is_dirty = false;
        *flushed = changes.last;

        Ok(())
    }

    /// Makes a change without a flush. Returns its number.
    fn change(
        &self,
        points: usize,
        change: UpdateOperation,
    ) -> Result<ChangeNumber, OperationError> {
        let mut changes = self.changes.lock();
        if changes.is_dirty {
            changes.last.losses += 1;
        }

        if changes.is_dirty || changes.points >= MAX_WRITTEN {
            // Closing the engine flushes, unless that fails.
            changes.is_dirty = true;
            self.renew()?;
            changes.points = 0;
        }

        changes.is_dirty = true;
        self.read(|edge| edge.update(change).map(drop))?;
        changes.is_dirty = false;
        changes.points = changes.points.saturating_add(points);
        changes.last.count += 1;
        let number = changes.last;
        // Waiting changes go first, so that one flush serves all.
        MutexGuard::unlock_fair(changes);

        Ok(number)
    }

    /// Reloads the shard without its log, and removes what remains of points
    /// that were deleted. Searches wait for the loading: two seconds for 100,000
    /// points.
    fn renew(&self) -> Result<(), OperationError> {
        {
            let mut edge = self.edge.write().unwrap_or_else(PoisonError::into_inner);
            drop(edge.take());
            *edge = Some(load(&self.folder)?);
        }
        // Searches go on meanwhile.
        self.read(EdgeShard::optimize).map(drop)
    }
}

/// Closes the engine, which flushes again and panics if that fails, because the
/// folder is gone for example. Nothing is lost by that: every change was flushed.
impl Drop for Shard {
    fn drop(&mut self) {
        let edge = self.edge.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        drop(panic::catch_unwind(AssertUnwindSafe(move || drop(edge))));
    }
}

/// Returns the error of a change that was lost because another one failed.
fn lost() -> OperationError {
    OperationError::service_error("the change was lost with another one")
}

/// Loads the shard of a folder, or creates it, with the index of bases. The shard
/// must not be open.
fn load(folder: &Path) -> Result<EdgeShard, OperationError> {
    wal::trim(folder)?;
    let edge = EdgeShard::load(folder, Some(config::config()))?;
    if !edge.info().payload_schema.contains_key(&config::base_field()?) {
        edge.update(config::base_index()?)?;
        edge.flush();
    }
    Ok(edge)
}
