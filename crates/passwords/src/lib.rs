//! Argon2id password hashing on dedicated threads.

mod argon2id;
mod cost;
mod hasher;
mod memory;
mod pool;

pub use cost::{HashCost, HashCostError};
pub use hasher::{Argon2Hasher, PoolSize};
