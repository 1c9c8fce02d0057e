//! Devices and their keys, in SQL.

mod device_reader;
mod keys;

mod device_row;
mod recovery_row;

pub use device_reader::SqlDeviceReader;
pub use keys::SqlKeys;
