//! Use cases of encrypted accounts, bundled for servers.

use crate::devices::Devices;
use crate::directory::DeviceDirectory;
use crate::recovery::Recovery;

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
