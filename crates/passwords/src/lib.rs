//! Argon2id password hashing on dedicated threads.
//!
//! `hasher.rs` implements the port `PasswordHasher` of `identity`: begin
//! there. `pool.rs` queues each hash for one of its threads, which computes
//! it in `argon2id.rs`, in memory of its own (`memory.rs`). A full queue
//! refuses at once; `cost.rs` bounds what one hash may take.

mod argon2id;
mod cost;
mod hasher;
mod memory;
mod pool;

pub use cost::{HashCost, HashCostError};
pub use hasher::{Argon2Hasher, PoolSize};
