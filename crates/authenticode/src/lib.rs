//! Authenticode signatures of cabinet files, and the certificates of their
//! signers.

mod cabinet;
mod certificate;
mod signature;

pub use cabinet::CabinetError;
pub use certificate::{InvalidCertificate, SigningCertificate};
pub use signature::verify_cabinet;
