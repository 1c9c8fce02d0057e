//! Small files: bounded reads and atomic replacement.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pia_kernel::random_bytes;
use pia_policy::MAX_LICENCE_BYTES;

/// Result of reading a path.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum FileReadOutcome {
    Missing,
    /// Content, truncated to one byte more than the maximum.
    Content(Vec<u8>),
    Failed(String),
}

impl FileReadOutcome {
    /// Reads a path. Follows links, as secrets are mounted into containers so.
    pub(crate) fn at(path: &Path) -> Self {
        match content(path) {
            Ok(content) => Self::Content(content),
            Err(err) if err.kind() == ErrorKind::NotFound => Self::Missing,
            Err(err) => Self::Failed(err.to_string()),
        }
    }
}

fn content(path: &Path) -> io::Result<Vec<u8>> {
    // Checked first: opening a pipe blocks until it has a writer.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut content = Vec::new();
    let bound = u64::try_from(MAX_LICENCE_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path)?.take(bound).read_to_end(&mut content)?;
    Ok(content)
}

/// Replaces the file's content, readable by its owner alone.
///
/// Concurrent readers, and readers after a crash, find the old file or the new.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let temporary = temporary_path(folder, path)?;
    let outcome = write_new(&temporary, content).and_then(|()| fs::rename(&temporary, path));
    if let Err(err) = outcome {
        // The error is returned, not a failure to remove the temporary file.
        fs::remove_file(&temporary).unwrap_or_default();
        return Err(err);
    }

    // Not every file system can sync a folder, and the file is complete.
    File::open(folder).and_then(|it| it.sync_all()).unwrap_or_default();

    Ok(())
}

fn temporary_path(folder: &Path, path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::other("it names no file"))?;
    let random = random_bytes::<9>().map_err(io::Error::other)?;
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}", URL_SAFE_NO_PAD.encode(random)));
    Ok(folder.join(temporary))
}

fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(content)?;
    file.sync_all()
}
