//! Shard of the engine.
//!
//! The engine writes each change into a log, but does not read that back when a
//! shard is loaded: a crash loses what was not flushed. So each change is
//! flushed. For 256 points this takes 10 to 90 ms beside the 50 to 80 ms of the
//! change, which is less than the embedding of their texts.

use std::fs::{self, File};
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock};

use qdrant_edge::{EdgeShard, OperationError, UpdateOperation};

use super::{config, lock::lock, wal};
use crate::setup_error::VectorSetupError;

/// Points after whose writing a shard is loaded anew: about 100 MiB of its log.
const MAX_WRITTEN: usize = 20_000;

/// Shard of the engine, with the lock of its folder.
pub(super) struct Shard {
    folder: PathBuf,
    /// `None` while it could not be loaded.
    edge: RwLock<Option<EdgeShard>>,
    /// Number of points that were written since the shard was loaded. Held for
    /// every change, since the engine panics if it is flushed during one.
    written: Mutex<usize>,
    /// Dropped last.
    _lock: File,
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
            written: Mutex::new(0),
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

    /// Writes a change of so many points. They are on the disk once this returns.
    pub(super) fn write(
        &self,
        points: usize,
        change: UpdateOperation,
    ) -> Result<(), OperationError> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if *written >= MAX_WRITTEN {
            self.renew()?;
            *written = 0;
        }
        // After a change that fails, also by a panic, the next one begins with
        // what is on the disk.
        let before = mem::replace(&mut *written, MAX_WRITTEN);
        self.read(|edge| {
            edge.update(change)?;
            edge.flush();
            Ok(())
        })?;
        *written = before.saturating_add(points);
        Ok(())
    }

    /// Loads the shard anew, without its log, and removes what remains of points
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

/// Loads the shard of a folder, or creates it.
fn load(folder: &Path) -> Result<EdgeShard, OperationError> {
    wal::trim(folder)?;
    let edge = EdgeShard::load(folder, Some(config::config()))?;
    if !edge.info().payload_schema.contains_key(&config::base_field()?) {
        edge.update(config::base_index()?)?;
        edge.flush();
    }
    Ok(edge)
}
