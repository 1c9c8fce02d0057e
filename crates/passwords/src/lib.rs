//! Identity's port for passwords: Argon2id on a few threads of its own.

mod argon2id;
mod cost;
mod hasher;
mod memory;
mod pool;

pub use cost::{HashCost, HashCostError};
pub use hasher::{Argon2Hasher, PoolSize};
