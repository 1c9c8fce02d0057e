//! Noticing that files have changed.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, SystemTime};
use std::{io, thread};

/// A thread that looks after files, until this is dropped.
#[derive(Debug)]
pub struct Watch {
    _until_dropped: Sender<()>,
}

/// Metadata that differs when a file does, though nobody reads it.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    changed: Option<SystemTime>,
    length: u64,
    number: u64,
}

/// Calls `format` when any of the files was changed, made or removed, and once
/// at the beginning: something may have changed since they were read.
///
/// It looks at them every `interval`, since the system's own notices do not
/// come from network shares, and not through the links by which Kubernetes
/// replaces a whole folder. Links are followed.
pub fn watch(
    files: Vec<PathBuf>,
    interval: Duration,
    mut format: impl FnMut() + Send + 'static,
) -> io::Result<Watch> {
    let (until_dropped, dropped) = channel();
    let look = move || {
        let mut before = None;
        while waits(&dropped, if before.is_some() { interval } else { Duration::ZERO }) {
            let now: Vec<_> = files.iter().map(|it| Stamp::from_path(it)).collect();
            if before.as_ref() != Some(&now) {
                before = Some(now);
                format();
            }
        }
    };
    thread::Builder::new().name("watch".to_owned()).spawn(look)?;
    Ok(Watch { _until_dropped: until_dropped })
}

fn waits(dropped: &Receiver<()>, interval: Duration) -> bool {
    matches!(dropped.recv_timeout(interval), Err(RecvTimeoutError::Timeout))
}

impl Stamp {
    fn from_path(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        let (length, number) = (metadata.len(), number(&metadata));
        Some(Self { changed: metadata.modified().ok(), length, number })
    }
}

#[cfg(unix)]
fn number(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn number(_: &Metadata) -> u64 {
    0
}
