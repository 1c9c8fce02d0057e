//! Sealing's storage ports, over SQLite or PostgreSQL.

mod key_register;

pub use key_register::SqlKeyRegister;
