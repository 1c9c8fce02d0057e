//! File with the token of the pod. A new token is written to a temporary file in
//! the same folder, flushed, and renamed, so that the folder must be writable.

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use pia_kernel::Secret;
use pia_pod::TokenStore;
use tempfile::NamedTempFile;
use tokio::task::spawn_blocking;

/// File with a token, which only its owner can read once it was replaced.
pub(crate) struct TokenFile(pub(crate) PathBuf);

#[async_trait]
impl TokenStore for TokenFile {
    async fn store(&self, token: &Secret<String>) -> Result<(), Box<dyn Error + Send + Sync>> {
        let path = self.0.clone();
        let token = token.clone();
        let outcome = spawn_blocking(move || replace(&path, &token)).await?;
        Ok(outcome.map_err(|err| format!("{}: {err}", self.0.display()))?)
    }
}

/// Replaces a file at once: after a crash it has one token or the other.
fn replace(path: &Path, token: &Secret<String>) -> io::Result<()> {
    // A symbolic link is kept: its target is replaced.
    let path = fs::canonicalize(path)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut file = NamedTempFile::new_in(folder)?;
    writeln!(file, "{}", token.expose())?;
    file.as_file().sync_all()?;
    file.persist(&path)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn token() -> Secret<String> {
        Secret::new("pia_pod_new".to_owned())
    }

    #[tokio::test]
    async fn a_token_replaces_the_previous_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let link = folder.path().join("link");
        fs::write(&file, "pia_pod_old").unwrap();
        symlink(&file, &link).unwrap();

        TokenFile(link.clone()).store(&token()).await.unwrap();

        assert_eq!(fs::read_to_string(&file).unwrap(), "pia_pod_new\n");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(link.is_symlink());
        assert_eq!(folder.path().read_dir().unwrap().count(), 2);
    }

    #[tokio::test]
    async fn an_error_names_the_file_and_not_the_token() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");

        let error = TokenFile(missing.clone()).store(&token()).await.unwrap_err().to_string();

        assert!(error.starts_with(&missing.display().to_string()), "{error}");
        assert!(!error.contains("pia_pod_new"), "{error}");
    }
}
