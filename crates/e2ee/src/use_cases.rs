//! Use cases of encrypted accounts, bundled for servers.

use crate::devices::Devices;
use crate::recovery::Recovery;

/// Use cases of encrypted accounts. Clones share their state.
#[derive(Clone)]
pub struct E2ee {
    /// Devices and their keys.
    pub devices: Devices,
    /// Recovery of an account's keys by its recovery code.
    pub recovery: Recovery,
}
