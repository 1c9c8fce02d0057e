//! Port of the server's setup; implemented in `server/src/setup.rs`.
//!
//! `install` is for the setup pages: it needs the setup token instead of an account.
//! `replace` is for administrators, through `licence_replacement.rs`.

use async_trait::async_trait;
use pia_kernel::{Secret, Timestamp, Unavailable};

use crate::licence::{Licence, LicenceError};

/// Installation of a licence, and its replacement.
#[async_trait]
pub trait LicenceService: Send + Sync {
    /// Returns the present state of the setup.
    fn setup_state(&self) -> SetupState;

    /// Installs a licence for a caller that knows the setup token.
    ///
    /// The licence is stored permanently, is in force before this returns, and
    /// invalidates the token. A licence that is not accepted, or cannot be
    /// stored, changes nothing. The token is compared in constant time, before
    /// anything about the licence is revealed.
    async fn install(&self, token: &Secret<String>, text: &[u8]) -> Result<Licence, InstallError>;

    /// Replaces the licence by another one, for a caller who is known to be an
    /// administrator. A licence that is not accepted, or cannot be stored,
    /// changes nothing.
    async fn replace(&self, text: &[u8]) -> Result<Licence, InstallError>;
}

/// State of the setup, and what it lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetupState {
    /// Licence is in force: the setup is complete.
    Done,
    /// Server has no licence.
    NoLicence,
    /// Installed licence is not accepted.
    Refused(LicenceError),
    /// Licence expired at this time.
    Ended(Timestamp),
}

/// Errors that prevent a licence from being installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// Licence is in force: the setup is over.
    #[error("a valid licence is installed; replace it in the console or by its file")]
    AlreadyLicensed,
    /// Setup token is wrong.
    #[error("the setup token is wrong; it is in the file at Setup:TokenPath")]
    WrongToken,
    /// Licence is not accepted by this build.
    #[error(transparent)]
    Refused(#[from] LicenceError),
    /// Licence has expired already.
    #[error("the licence expired at {0}")]
    Ended(Timestamp),
    /// Licence could not be stored, or the token could not be read.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}
