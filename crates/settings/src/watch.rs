//! Detection of changed files.
//!
//! Used for the settings files and those of the certificate
//! (`server/src/process.rs`), whose callbacks reload them.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, SystemTime};
use std::{io, thread};

/// Handle of a thread that watches files until the handle is dropped.
#[derive(Debug)]
pub struct Watch {
    _until_dropped: Sender<()>,
}

/// Metadata that differs when a file changes.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    changed: Option<SystemTime>,
    length: u64,
    inode: u64,
}

/// Calls `on_change` when any of the files is changed, created or removed, and
/// once at the start: something may have changed since they were read.
///
/// The thread polls every `interval`, since the system's notifications do not
/// cover network shares, nor the links by which Kubernetes replaces a whole folder.
/// Links are followed.
pub fn watch(
    files: Vec<PathBuf>,
    interval: Duration,
    mut on_change: impl FnMut() + Send + 'static,
) -> io::Result<Watch> {
    let (until_dropped, dropped) = channel();
    let poll = move || {
        let mut known_stamps = None;
        loop {
            let delay = if known_stamps.is_some() { interval } else { Duration::ZERO };
            if is_dropped_within(delay, &dropped) {
                return;
            }

            let stamps: Vec<_> = files.iter().map(|it| Stamp::from_path(it)).collect();
            if known_stamps.as_ref() != Some(&stamps) {
                known_stamps = Some(stamps);
                on_change();
            }
        }
    };

    thread::Builder::new().name("watch".to_owned()).spawn(poll)?;
    Ok(Watch { _until_dropped: until_dropped })
}

/// Waits until the handle is dropped, at most for `delay`. Returns whether it was dropped.
fn is_dropped_within(delay: Duration, dropped: &Receiver<()>) -> bool {
    !matches!(dropped.recv_timeout(delay), Err(RecvTimeoutError::Timeout))
}

impl Stamp {
    fn from_path(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self {
            changed: metadata.modified().ok(),
            length: metadata.len(),
            inode: inode(&metadata),
        })
    }
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}
