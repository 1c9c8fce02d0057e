//! Devices and their keys, in SQL.

mod keys;

mod device_row;
mod recovery_row;

pub use keys::SqlKeys;
