//! The setup token, by which the operator proves access to the server's files.

use std::fs;
use std::io::{self, ErrorKind, Read as _};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pia_kernel::{Secret, Unavailable, random_bytes};
use ring::hmac;
use ring::rand::SystemRandom;

use crate::licence::replace;

/// Maximum size of the file, twice a token's length.
const MAX_FILE_BYTES: u64 = 86;

/// File with the token.
///
/// Tokens are always compared with the file, so that instances which share the
/// folder agree, and removing the file revokes the token at once. A file with
/// other content is neither written nor removed: the setting points to the
/// wrong path.
pub(super) struct TokenFile {
    path: PathBuf,
    logged: Mutex<Option<SetupTokenFile>>,
}

/// First step that is missing in the setup.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MissingStep {
    Licence,
    Administrator,
}

/// Last logged state of the file; only changes are logged.
#[derive(PartialEq, Eq)]
enum SetupTokenFile {
    Waiting(MissingStep),
    NotAToken,
    Failed(String),
}

enum Existing {
    Nothing,
    Token(Secret<String>),
    SomethingElse,
}

impl TokenFile {
    pub(super) fn at(path: PathBuf) -> Self {
        Self { path, logged: Mutex::new(None) }
    }

    /// Ensures that there is a token, readable by the file's owner alone.
    pub(super) fn ensure(&self, missing: MissingStep) {
        let outcome = self.existing().and_then(|existing| match existing {
            Existing::Nothing => self.write().map(|()| SetupTokenFile::Waiting(missing)),
            Existing::Token(_) => self.tighten().map(|()| SetupTokenFile::Waiting(missing)),
            Existing::SomethingElse => Ok(SetupTokenFile::NotAToken),
        });
        self.log_once(outcome.unwrap_or_else(|err| SetupTokenFile::Failed(err.to_string())));
    }

    /// Removes the file of the token. Another file in its place is left alone.
    pub(super) fn remove(&self) {
        let outcome = self.existing().and_then(|existing| match existing {
            Existing::Token(_) => remove_file(&self.path),
            Existing::Nothing | Existing::SomethingElse => Ok(()),
        });
        match outcome {
            Ok(()) => self.log_removed(),
            Err(err) => self.log_once(SetupTokenFile::Failed(err.to_string())),
        }
    }

    /// Returns whether the candidate is the token, in constant time.
    pub(super) fn verify(&self, candidate: &Secret<String>) -> Result<bool, Unavailable> {
        let failed = |err| Unavailable::new("the setup token", err);
        let Existing::Token(token) = self.existing().map_err(failed)? else {
            return Ok(false);
        };
        self.tighten().map_err(failed)?;
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())
            .map_err(|_unspecified| failed(no_randomness()))?;
        let tag = hmac::sign(&key, token.expose().as_bytes());
        let candidate = candidate.expose().trim();
        Ok(hmac::verify(&key, candidate.as_bytes(), tag.as_ref()).is_ok())
    }

    fn existing(&self) -> io::Result<Existing> {
        // Links are not followed.
        match fs::symlink_metadata(&self.path) {
            Ok(metadata) if metadata.is_file() => {}
            Ok(_) => return Ok(Existing::SomethingElse),
            Err(err) if err.kind() == ErrorKind::NotFound => return Ok(Existing::Nothing),
            Err(err) => return Err(err),
        }

        let mut content = Vec::new();
        fs::File::open(&self.path)?.take(MAX_FILE_BYTES).read_to_end(&mut content)?;
        let text = String::from_utf8(content).unwrap_or_else(|_binary| "?".to_owned());
        Ok(match text.trim() {
            "" => Existing::Nothing,
            token if is_token(token) => Existing::Token(Secret::new(token.to_owned())),
            _ => Existing::SomethingElse,
        })
    }

    fn write(&self) -> io::Result<()> {
        let bytes = random_bytes::<32>().map_err(io::Error::other)?;
        replace(&self.path, format!("{}\n", URL_SAFE_NO_PAD.encode(bytes)).as_bytes())
    }

    #[cfg(unix)]
    fn tighten(&self) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(&self.path)?.permissions().mode();
        if mode & 0o777 == 0o600 {
            return Ok(());
        }
        fs::set_permissions(&self.path, fs::Permissions::from_mode(0o600))
    }

    #[cfg(not(unix))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as it is on unix")]
    fn tighten(&self) -> io::Result<()> {
        Ok(())
    }

    fn log_once(&self, state: SetupTokenFile) {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.as_ref() == Some(&state) {
            return;
        }

        let path = self.path.display();

        match &state {
            SetupTokenFile::Waiting(MissingStep::Administrator) => tracing::warn!(
                code = "SVC-SET-004", setup.token_path = %path,
                "the server has no administrator: make the first one at /admin/setup, with the \
                 token from this file, or with `pia-server admin grant`"
            ),
            SetupTokenFile::Waiting(MissingStep::Licence) => tracing::warn!(
                code = "SVC-SET-001", setup.token_path = %path,
                "the server waits to be set up: give it a licence at /admin/setup, with the \
                 token from this file"
            ),
            SetupTokenFile::NotAToken => tracing::error!(
                code = "SVC-SET-002", setup.token_path = %path,
                "there is something else than a setup token at Setup:TokenPath; it is left \
                 alone, and nobody can set the server up"
            ),
            SetupTokenFile::Failed(reason) => tracing::error!(
                code = "SVC-SET-003", setup.token_path = %path, error = reason,
                "failed to update the setup token file"
            ),
        }

        *logged = Some(state);
    }

    fn log_removed(&self) {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(logged.take(), Some(SetupTokenFile::Waiting(_))) {
            tracing::info!("setup completed; setup token deleted");
        }
    }
}

fn is_token(text: &str) -> bool {
    URL_SAFE_NO_PAD.decode(text).is_ok_and(|it| it.len() == 32)
}

/// Removes a file that another instance may have removed already.
fn remove_file(path: &std::path::Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(err) if err.kind() != ErrorKind::NotFound => Err(err),
        _ => Ok(()),
    }
}

fn no_randomness() -> io::Error {
    io::Error::other("the machine's random number generator failed")
}
