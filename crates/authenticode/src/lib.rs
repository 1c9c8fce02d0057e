//! Authenticode signatures of cabinet files, and the certificates of their
//! signers.
//!
//! `verify_cabinet` is the main call: `cabinet.rs` finds the signature and what it
//! covers, `signature.rs` verifies it, and `certificate.rs` describes its signer.
//! Trust is left to the caller: chains, validity periods and revocation are not
//! checked, since administrators trust single certificates.

mod cabinet;
mod certificate;
mod signature;

pub use cabinet::CabinetError;
pub use certificate::{InvalidCertificate, SigningCertificate};
pub use signature::verify_cabinet;
