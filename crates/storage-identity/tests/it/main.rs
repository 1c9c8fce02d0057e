//! What identity's storage must do on every backend.

#![expect(clippy::unwrap_used, reason = "tests")]

mod accounts;
mod app_passwords;
mod attempts;
mod challenges;
mod factors;
mod mailed_tokens;
mod passwords;
mod guesses;
mod new_devices;
mod first_admin;
mod invitations;
mod passkey_challenges;
mod passkeys;
mod people;
mod providers;
mod registration;
mod revoking;
mod roles;
mod rotation;
mod sessions;
mod sign_in_codes;
mod sign_ins;
