//! Port of the operator's set-up.

use async_trait::async_trait;
use pia_kernel::{Secret, Timestamp, Unavailable};

use crate::licence::{Licence, LicenceError};

/// State of the set-up, and what is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetupState {
    /// A licence is in force: nothing is left to do.
    Done,
    /// Server has no licence.
    NoLicence,
    /// The installed licence is not accepted.
    Refused(LicenceError),
    /// The licence ended then.
    Ended(Timestamp),
}

/// Errors that prevent a licence from being installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// One is in force: set-up is over.
    #[error("the server has a licence in force; replace its licence file to change it")]
    AlreadyLicensed,
    /// Setup token is wrong.
    #[error("the setup token is wrong: it is in the file that Setup:TokenPath names")]
    WrongToken,
    /// Licence is not accepted by this build.
    #[error(transparent)]
    Refused(#[from] LicenceError),
    /// Licence has expired already.
    #[error("the licence ended at {0}")]
    Ended(Timestamp),
    /// Licence could not be stored, or the token not be read.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Installation of a licence on a server that has none in force.
#[async_trait]
pub trait LicenceService: Send + Sync {
    /// Returns what the server lacks at this moment.
    fn setup_state(&self) -> SetupState;

    /// Takes a licence from whoever knows the setup token.
    ///
    /// It is stored so that it outlives the process, is in force before this
    /// returns, and ends the token. A licence that is not accepted changes
    /// nothing, and neither does one that cannot be stored. The token is compared
    /// in constant time, before anything is said of the licence.
    async fn install(&self, token: &Secret<String>, text: &[u8]) -> Result<Licence, InstallError>;
}
