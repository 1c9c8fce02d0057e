//! `/auth/login`, `/auth/callback` and `/auth/token`: sign-in with an identity
//! provider.

mod browsers;
mod callback;
mod login;
mod parameters;
mod presented_code;
mod token;

pub use browsers::BrowserRedirects;
pub(crate) use callback::{CallbackQuery, callback};
pub(crate) use login::{LoginQuery, login};
pub(crate) use token::{TokenRequest, token};
