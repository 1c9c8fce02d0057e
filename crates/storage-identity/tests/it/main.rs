//! Contract tests of identity's storage, on every backend.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod account_security;
mod accounts;
mod addresses;
mod api_keys;
mod app_passwords;
mod attempts;
mod candidates;
mod challenges;
mod factors;
mod first_admin;
mod guesses;
mod invitations;
mod leaving;
mod mailed_tokens;
mod new_devices;
mod passkey_challenges;
mod passkeys;
mod passwords;
mod people;
mod providers;
mod registration;
mod revoking;
mod roles;
mod rotation;
mod scim_tokens;
mod scim_users;
mod sessions;
mod sign_in_codes;
mod sign_ins;
mod statements;
