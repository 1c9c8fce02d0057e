//! HTTP errors of the identity domain, which all surfaces share.

mod administration;
mod api_keys;
mod app_passwords;
mod factors;
mod first_admin;
mod identity;
mod lifecycle;
mod passkeys;
mod passwords;
mod providers;
mod scim_tokens;
