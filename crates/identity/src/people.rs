//! Users: accounts, addresses, roles, registration and deletion.

pub(crate) mod account;
pub(crate) mod account_security;
pub(crate) mod accounts;
pub(crate) mod address_change;
pub(crate) mod deletion;
pub(crate) mod email;
pub(crate) mod email_tokens;
pub(crate) mod export;
pub(crate) mod first_admin;
pub(crate) mod invitations;
pub(crate) mod registration;
pub(crate) mod role;
pub(crate) mod roles;
pub(crate) mod unverified;
pub(crate) mod verification;
