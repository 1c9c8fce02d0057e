//! The use cases of encrypted accounts, taken whole by whoever serves them.

use crate::devices::Devices;
use crate::recovery::Recovery;

/// Use cases of encrypted accounts. Clones share what they hold.
#[derive(Clone)]
pub struct E2ee {
    /// Devices that hold an account's keys.
    pub devices: Devices,
    /// Recovery of an account's keys by its recovery code.
    pub recovery: Recovery,
}
