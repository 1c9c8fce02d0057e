//! Second factors, and proofs that an account is its owner's.

pub(crate) mod challenges;
pub(crate) mod proofs;
pub(crate) mod reauthentication;
pub(crate) mod reauthenticator;
pub(crate) mod recovery_codes;
pub(crate) mod second_factors;
pub(crate) mod totp;
