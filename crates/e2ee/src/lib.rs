//! Devices and their keys: turning on end-to-end encryption of an account,
//! and adding devices to it.
//!
//! Every change in `devices.rs` and `recovery.rs` has the same three steps: a
//! form is validated (`fields.rs`), `decide` of its module returns a `Change` or
//! an error from the account's current state (`AccountKeys`), and
//! `KeyStore::change` applies it in the transaction that read this state. Read
//! `change.rs`, then `registration.rs` and `approval.rs`. The server never has
//! the account's key: it stores wrapped copies, and verifies only signatures and
//! proofs.

mod devices;
mod directory;
mod recovery;
mod use_cases;

mod activation;
mod approval;
mod own_key;
mod proof_key;
mod recovery_copy;
mod registration;
mod revocation;

mod account_keys;
mod change;
mod device;
mod ports;

mod fields;
mod violation;

#[cfg(test)]
mod fakes;

pub use account_keys::{AccountKeys, RecoveryProofKey};
pub use activation::{ActivateError, ActivationForm};
pub use approval::{ApprovalForm, ApproveError};
pub use change::Change;
pub use device::{
    Device, DeviceApproval, DeviceId, DeviceRow, DeviceState, OnboardingSession, WaitingDevice,
    WrappedKey,
};
pub use devices::{Devices, FindError, ListedDevice};
pub use directory::{
    DeviceColumn, DeviceDirectory, DeviceEntry, DeviceFilter, DeviceOrder, DeviceStatus,
};
pub use own_key::{KeyForm, StoreKeyError};
pub use ports::{DecideChange, DeviceReader, KeyState, KeyStore};
pub use proof_key::{ProofKey, ProofKeyForm, PutProofKeyError};
pub use recovery::{FindCopyError, Recovery};
pub use recovery_copy::{RecoveryCopy, RecoveryForm, StoreCopyError};
pub use registration::{DeviceForm, RegisterDeviceError, RegisteredDevice};
pub use revocation::RevokeDeviceError;
pub use use_cases::{E2ee, KeyOwner};
pub use violation::Violation;
