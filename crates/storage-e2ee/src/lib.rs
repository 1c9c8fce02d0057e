//! Devices and their keys, in SQL.
