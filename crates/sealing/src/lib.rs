//! Secrets at rest: the master key, the check that it matches the stored
//! data, and sealing under per-user keys.
//!
//! At its start the server checks the key with `KeyGuardOutcome::check`. From then on
//! the stores seal through `Sealer`, or through `PersonSeal` for many values of one
//! user; `ServerSeal` is for values of no single user. Read `sealer.rs` first: keys
//! are derived there. `envelope.rs` has the bytes that all three write.

mod envelope;
mod guard;
mod master_keys;
mod person_seal;
mod ports;
mod sealer;
mod server_seal;
mod server_signer;

pub use envelope::{SealContext, UnsealError};
pub use guard::{AcceptNew, KeyGuardOutcome, MasterKeyError};
pub use master_keys::{KeyId, MasterKeys};
pub use person_seal::PersonSeal;
pub use ports::{InstalledKey, KeyRegister, KeyReplacementOutcome, Salt, SaltStore};
pub use sealer::Sealer;
pub use server_seal::ServerSeal;
pub use server_signer::{ServerSignature, ServerSigner};
