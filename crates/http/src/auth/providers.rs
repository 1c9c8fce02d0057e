//! `/auth/login`, `/auth/callback` and `/auth/token`: signing in at an identity
//! provider.

mod browsers;
mod callback;
mod login;
mod parameters;
mod token;

pub use browsers::Browsers;
pub(crate) use callback::callback;
pub(crate) use login::login;
pub(crate) use token::{TokenRequest, token};
