//! Machine that this instance runs on.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use pia_http::{HostStatus, Volume};
use pia_kernel::Timestamp;
use pia_settings::{Config, VectorTarget};
use rustix::fs::statvfs;

use crate::tls;

/// Machine that this instance runs on.
pub(crate) struct Host {
    certificate_expires_at: Option<Timestamp>,
    /// Folders that the server writes to.
    folders: Vec<PathBuf>,
}

impl Host {
    /// Reads the certificate that the server starts with.
    pub(crate) fn new(config: &Config) -> Self {
        let tls = config.server.tls.as_ref();
        let database = config.database.startup.target.folder().map(Path::to_owned);
        let vectors = config.knowledge.stores.as_ref().and_then(|it| match &it.vectors {
            VectorTarget::Embedded(folder) => Some(folder.clone()),
            VectorTarget::Server { .. } => None,
        });
        Self {
            certificate_expires_at: tls.and_then(|it| tls::expires_at(&it.certificate)),
            folders: database.into_iter().chain(vectors).collect(),
        }
    }
}

#[async_trait]
impl HostStatus for Host {
    fn certificate_expires_at(&self) -> Option<Timestamp> {
        self.certificate_expires_at
    }

    async fn volumes(&self) -> Vec<Volume> {
        let folders = self.folders.clone();
        tokio::task::spawn_blocking(|| measure(folders)).await.unwrap_or_default()
    }
}

/// Measures the volumes of folders, each volume once.
fn measure(folders: Vec<PathBuf>) -> Vec<Volume> {
    let mut devices = Vec::new();
    let mut volumes = Vec::new();
    for folder in folders {
        // The folder of a relative file name is empty.
        let path = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
        // Some file systems have no id of their own; all have a device.
        let (Ok(stat), Ok(metadata)) = (statvfs(path), path.metadata()) else { continue };
        if devices.contains(&metadata.dev()) {
            continue;
        }

        devices.push(metadata.dev());
        let free = stat.f_bavail.saturating_mul(stat.f_frsize);
        let size = stat.f_blocks.saturating_mul(stat.f_frsize);
        volumes.push(Volume { folder: path.to_owned(), free, size });
    }

    volumes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_one_volume_are_measured_once() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("vectors");
        std::fs::create_dir(&folder).unwrap();
        let missing = root.path().join("missing");

        let volumes = measure(vec![root.path().to_owned(), folder, missing]);

        assert_eq!(volumes.len(), 1);
        assert_eq!(volumes[0].folder, root.path());
        assert!(volumes[0].free > 0 && volumes[0].free <= volumes[0].size);
    }
}
