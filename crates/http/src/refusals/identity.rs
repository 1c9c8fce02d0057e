//! HTTP errors of accounts and sign-ins, which `pia-web` defines.

use pia_identity::{
    AccountChangeError, AccountError, AccountSecurityError, AddressChangeError, BrowserSignInError,
    ChangePasswordError, ConfirmError, CreateApiKeyError, CreateAppPasswordError,
    CreateScimTokenError, DeleteError, DestinationError, EmailTokenError, EnrolError,
    FactorChangeError, FactorSignInError, FirstAdminError, InviteError, OwnerError,
    PasskeyAddError, PasskeyChangeError, PasskeyOptionsError, PasskeyRemoveError,
    PasskeySignInError, ProviderSignInError, RedeemError, RefreshError, RegisterError,
    RemoveApiKeyError, RemoveAppPasswordError, ResetError, RevokeError, RevokeScimTokenError,
    RoleError, SignInError, StartProviderSignInError, VerifyError,
};
use pia_web::ApiError;

use crate::HttpError;

/// Implements the conversion of errors that `pia-web` converts.
macro_rules! convert {
    ($($error:ident)*) => {
        $(
            impl From<$error> for HttpError {
                fn from(err: $error) -> Self {
                    ApiError::from(err).into()
                }
            }
        )*
    };
}

convert! {
    AccountChangeError
    AccountError
    AccountSecurityError
    AddressChangeError
    BrowserSignInError
    ChangePasswordError
    ConfirmError
    CreateApiKeyError
    CreateAppPasswordError
    CreateScimTokenError
    DeleteError
    DestinationError
    EmailTokenError
    EnrolError
    FactorChangeError
    FactorSignInError
    FirstAdminError
    InviteError
    OwnerError
    PasskeyAddError
    PasskeyChangeError
    PasskeyOptionsError
    PasskeyRemoveError
    PasskeySignInError
    ProviderSignInError
    RedeemError
    RefreshError
    RegisterError
    RemoveApiKeyError
    RemoveAppPasswordError
    ResetError
    RevokeError
    RevokeScimTokenError
    RoleError
    SignInError
    StartProviderSignInError
    VerifyError
}
