//! `/auth`: accounts, sign-in and sessions.

pub(crate) mod account;
mod api_keys;
mod app_passwords;
mod business_profile;
mod change_password;
mod done;
mod envelope;
mod login;
mod login_history;
mod login_mfa;
mod logout;
mod mailed;
mod me;
pub(crate) mod mfa;
pub(crate) mod passkeys;
pub(crate) mod providers;
mod refresh;
mod register;
mod reset_password;
mod sessions;
mod verify_email;

pub(crate) use api_keys::{
    ApiKeyRequest, ApiKeysResponse, CreatedApiKeyResponse, api_keys, create_api_key, revoke_api_key,
};
pub(crate) use app_passwords::{
    AppPasswordRequest, AppPasswordsResponse, CreatedAppPasswordResponse, app_passwords,
    create_app_password, revoke_app_password,
};
pub(crate) use business_profile::{BusinessProfileRequest, declare};
pub(crate) use change_password::{ChangePasswordRequest, ChangedPassword, change_password};
pub(crate) use done::Done;
pub(crate) use envelope::SignInResponse;
pub(crate) use login::{LoginRequest, login};
pub(crate) use login_history::{LoginHistoryResponse, login_history};
pub(crate) use login_mfa::{MfaLoginRequest, login_mfa};
pub(crate) use logout::{LogoutRequest, logout};
pub(crate) use mailed::{
    EmailLinkRequest, EmailLinkResponse, forgot_password, resend_verification,
};
pub(crate) use me::{MeResponse, me};
pub use providers::BrowserRedirects;
pub(crate) use refresh::{RefreshRequest, RefreshResponse, refresh};
pub(crate) use register::{RegisterRequest, RegisterResponse, register};
pub(crate) use reset_password::{ResetPasswordRequest, missing_fields, reset_password};
pub(crate) use sessions::{
    RevokedResponse, SessionsResponse, revoke_others, revoke_session, sessions,
};
pub(crate) use verify_email::{VerificationLink, verify_email};
