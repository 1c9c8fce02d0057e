//! Secrets at rest: the master key, and whether it is still the one that the
//! stored data was sealed with.

mod guard;
mod master_keys;
mod ports;

pub use guard::{AcceptNew, KeyError, KeyGuard};
pub use master_keys::{KeyId, MasterKeys};
pub use ports::{Installed, KeyRegister};
