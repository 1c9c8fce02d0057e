//! `/auth/mfa`: second factors.

mod begin;
mod disable;
mod proof;
mod recovery_codes;
mod show;
mod verify;

pub(crate) use begin::{TotpBeginRequest, TotpEnrolment, begin};
pub(crate) use disable::disable;
pub(crate) use proof::{FreshProofRequest, factor_answer, fresh_proof};
pub(crate) use recovery_codes::{RecoveryCodesResponse, regenerate};
pub(crate) use show::{FactorsResponse, show};
pub(crate) use verify::{TotpVerifyRequest, verify};
