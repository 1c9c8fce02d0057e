//! HTTP errors of the identity domain, which all surfaces share.
//!
//! Each module has the `From` of one area's errors. A caller with a session gets 401
//! only if that session has ended, as clients sign out on 401: a wrong password in a
//! form is 400 or 403.

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
