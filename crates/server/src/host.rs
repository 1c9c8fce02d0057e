//! Machine that this instance runs on.
//!
//! `HostStatus` of `http` for the list of problems and the overview of the console:
//! the end of the certificate, and the free space of the volumes that the server
//! writes to.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use pia_http::{HostStatus, Volume};
use pia_kernel::Timestamp;
use pia_settings::{Config, VectorTarget};
use rustix::fs::statvfs;
use tokio::sync::{Mutex, mpsc};

use crate::tls::ServedCertificate;

/// Time within which volumes must respond. Local ones take microseconds; a
/// network file system may hang until its server is back.
const VOLUMES_TIMEOUT: Duration = Duration::from_secs(1);

/// Machine that this instance runs on.
pub(crate) struct Host {
    certificate: Option<ServedCertificate>,
    /// Folders that the server writes to.
    folders: Vec<PathBuf>,
    /// Held by the thread that measures volumes.
    measuring: Arc<Mutex<()>>,
}

impl Host {
    /// Creates the status of a server with these settings and this certificate.
    pub(crate) fn new(config: &Config, certificate: Option<ServedCertificate>) -> Self {
        let database = config.database.startup.target.folder().map(Path::to_owned);
        let vectors = config.knowledge.stores.as_ref().and_then(|it| match &it.vectors {
            VectorTarget::Embedded(folder) => Some(folder.clone()),
            VectorTarget::Server { .. } => None,
        });
        Self {
            certificate,
            folders: database.into_iter().chain(vectors).collect(),
            measuring: Arc::default(),
        }
    }
}

#[async_trait]
impl HostStatus for Host {
    fn certificate_expires_at(&self) -> Option<Timestamp> {
        self.certificate.as_ref()?.expires_at()
    }

    async fn volumes(&self) -> Vec<Volume> {
        let measured_volumes = measure(self.folders.clone());
        collect_within(VOLUMES_TIMEOUT, &self.measuring, measured_volumes).await
    }
}

/// Collects volumes as they are found, until the limit. One thread at a time
/// finds them, however long one hangs. The thread is not the runtime's, since a
/// shutdown would wait for such a thread.
async fn collect_within(
    limit: Duration,
    measuring: &Arc<Mutex<()>>,
    measured_volumes: impl Iterator<Item = Volume> + Send + 'static,
) -> Vec<Volume> {
    let mut volumes = Vec::new();
    let collect = async {
        let guard = Arc::clone(measuring).lock_owned().await;
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let find = move || {
            let _guard = guard;
            for volume in measured_volumes {
                // The caller may have stopped waiting.
                drop(sender.send(volume));
            }
        };

        if let Err(err) = thread::Builder::new().name("volumes".to_owned()).spawn(find) {
            tracing::warn!(error = %err, "failed to start the thread that measures volumes");
        }
        while let Some(volume) = receiver.recv().await {
            volumes.push(volume);
        }
    };

    if tokio::time::timeout(limit, collect).await.is_err() {
        tracing::warn!("a volume did not respond in time");
    }

    volumes
}

/// Measures the volumes of folders, each volume once.
fn measure(folders: Vec<PathBuf>) -> impl Iterator<Item = Volume> + Send + 'static {
    let mut devices = Vec::new();
    folders.into_iter().filter_map(move |folder| {
        // The folder of a relative file name is empty.
        let path = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
        // Some file systems have no id of their own; all have a device.
        let (Ok(stat), Ok(metadata)) = (statvfs(path), path.metadata()) else { return None };
        if devices.contains(&metadata.dev()) {
            return None;
        }

        devices.push(metadata.dev());
        let free = stat.f_bavail.saturating_mul(stat.f_frsize);
        let size = stat.f_blocks.saturating_mul(stat.f_frsize);
        Some(Volume { folder: path.to_owned(), free, size })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_one_volume_are_measured_once() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("vectors");
        std::fs::create_dir(&folder).unwrap();
        let missing_folder = root.path().join("missing");

        let volumes: Vec<_> =
            measure(vec![root.path().to_owned(), folder, missing_folder]).collect();

        assert_eq!(volumes.len(), 1);
        assert_eq!(volumes[0].folder, root.path());
        assert!(volumes[0].free > 0 && volumes[0].free <= volumes[0].size);
    }

    #[tokio::test]
    async fn a_volume_that_hangs_blocks_one_thread_and_no_caller() {
        let (release, hang) = std::sync::mpsc::channel::<()>();
        let volume = |folder: &str| Volume { folder: folder.into(), free: 1, size: 2 };
        let measuring = Arc::default();
        let hanging = std::iter::from_fn(move || {
            while hang.recv().is_ok() {}
            None
        });

        let hanging_volumes = [volume("/a")].into_iter().chain(hanging);
        let until_hang = collect_within(VOLUMES_TIMEOUT, &measuring, hanging_volumes).await;
        let responding_volumes = [volume("/b")].into_iter();
        let during_hang =
            collect_within(VOLUMES_TIMEOUT, &measuring, responding_volumes.clone()).await;
        drop(release);
        let after_hang =
            collect_within(Duration::from_mins(1), &measuring, responding_volumes).await;

        assert_eq!(until_hang, [volume("/a")]);
        assert!(during_hang.is_empty(), "{during_hang:?}");
        assert_eq!(after_hang, [volume("/b")]);
    }
}
