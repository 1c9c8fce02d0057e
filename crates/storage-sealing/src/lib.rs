//! Sealing's storage ports, over SQLite or PostgreSQL.

mod key_register;
mod salts;

pub use key_register::SqlKeyRegister;
pub use salts::SqlSalts;
