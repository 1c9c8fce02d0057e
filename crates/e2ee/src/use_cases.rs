//! Use cases of encrypted accounts, bundled for servers.

use pia_kernel::{ReauthenticationOutcome, UserId};

use crate::devices::Devices;
use crate::directory::DeviceDirectory;
use crate::recovery::Recovery;

/// Caller who changes the keys of their own account.
#[derive(Debug, Clone, Copy)]
pub struct KeyOwner {
    /// Account whose keys are changed.
    pub user: UserId,
    /// Outcome of the caller's reauthentication.
    pub reauthentication: ReauthenticationOutcome,
}

/// Use cases of encrypted accounts. Clones share their state.
#[derive(Clone)]
pub struct E2ee {
    /// Devices and their keys.
    pub devices: Devices,
    /// Devices of all accounts, for administrators.
    pub directory: DeviceDirectory,
    /// Recovery of an account's keys by its recovery code.
    pub recovery: Recovery,
}
