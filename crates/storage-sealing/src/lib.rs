//! Storage ports of sealing, over SQLite or PostgreSQL.

mod key_register;
mod salts;

pub use key_register::SqlKeyRegister;
pub use salts::SqlSalts;
