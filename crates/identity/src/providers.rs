//! Sign-in with identity providers.

pub(crate) mod accounts;
pub(crate) mod code_challenge;
pub(crate) mod flow;
pub(crate) mod provider;
pub(crate) mod redirect_target;
pub(crate) mod sign_in;
