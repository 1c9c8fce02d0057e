//! `/auth/webauthn`: passkeys.

mod challenge;
mod credentials;
mod login;
mod register;

pub(crate) use challenge::{PasskeyOptionsResponse, require_answer};
pub(crate) use credentials::{
    PasskeyChangeRequest, PasskeyItem, PasskeysResponse, change_passkey, passkeys, remove_passkey,
};
pub(crate) use login::{PasskeyLoginRequest, begin_login, complete_login};
pub(crate) use register::{PasskeyRegistrationRequest, begin_registration, complete_registration};
