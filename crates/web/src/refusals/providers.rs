//! HTTP errors of sign-ins with identity providers.

use actix_web::http::StatusCode;
use pia_identity::{DestinationError, ProviderSignInError, RedeemError, StartProviderSignInError};

use crate::{ApiError, FieldError};

impl From<StartProviderSignInError> for ApiError {
    fn from(err: StartProviderSignInError) -> Self {
        match err {
            StartProviderSignInError::Destination(err) => err.into(),
            StartProviderSignInError::StateTooLong { limit } => Self::invalid(vec![FieldError {
                field: "state".to_owned(),
                code: "too_long",
                message: format!("`state` may have at most {limit} characters."),
            }]),
            StartProviderSignInError::Failed(err) => err.reason.into(),
        }
    }
}

impl From<DestinationError> for ApiError {
    fn from(err: DestinationError) -> Self {
        let bad_request =
            |code, message: &str| Self::refused(StatusCode::BAD_REQUEST, code, message);

        match err {
            DestinationError::Target => bad_request(
                "invalid_redirect_uri",
                "`redirect_uri` is neither a loopback address nor a page of this server.",
            ),
            DestinationError::ChallengeRequired => bad_request(
                "code_challenge_required",
                "A loopback `redirect_uri` needs a `code_challenge`: the app is too old for this \
                 server.",
            ),
            DestinationError::ChallengeInvalid => bad_request(
                "code_challenge_invalid",
                "`code_challenge` is not the SHA-256 of a verifier in base64url, or \
                 `code_challenge_method` is not `S256`.",
            ),
            DestinationError::ChallengeUnexpected => bad_request(
                "code_challenge_unexpected",
                "Only a loopback `redirect_uri` has a `code_challenge`: `http://localhost`, \
                 `http://127.0.0.1` or `http://[::1]` with any port and path.",
            ),
        }
    }
}

impl From<ProviderSignInError> for ApiError {
    fn from(err: ProviderSignInError) -> Self {
        let bad_request =
            |code, message: &str| Self::refused(StatusCode::BAD_REQUEST, code, message);
        let forbidden = |code, message: &str| Self::refused(StatusCode::FORBIDDEN, code, message);
        let bad_gateway =
            |code, message: &str| Self::refused(StatusCode::BAD_GATEWAY, code, message);

        match err {
            ProviderSignInError::InvalidState => bad_request(
                "invalid_state",
                "This browser has no such sign-in under way: begin again.",
            ),
            ProviderSignInError::UnknownProvider => {
                bad_request("unknown_provider", "There is no identity provider of this name.")
            }
            ProviderSignInError::NotConfigured => {
                bad_request("provider_not_configured", "This identity provider is not set up here.")
            }
            ProviderSignInError::AccessDenied => {
                forbidden("access_denied", "The sign-in was cancelled or denied.")
            }
            ProviderSignInError::ProviderUnreachable => bad_gateway(
                "provider_unreachable",
                "The identity provider is not responding. Try again later.",
            ),
            ProviderSignInError::ProviderFailed => bad_gateway(
                "provider_error",
                "The identity provider's response could not be accepted.",
            ),
            ProviderSignInError::EmailMissing => {
                forbidden("email_missing", "The identity provider did not share an email address.")
            }
            ProviderSignInError::EmailNotVerified => forbidden(
                "email_not_verified",
                "The identity provider has not verified your email address.",
            ),
            ProviderSignInError::EmailExists => Self::refused(
                StatusCode::CONFLICT,
                "email_exists",
                "An account with this email already exists. Sign in the way you did before.",
            ),
            ProviderSignInError::RegistrationClosed => {
                forbidden("registration_closed", "Registration is closed on this server.")
            }
            ProviderSignInError::Suspended => Self::suspended(),
            ProviderSignInError::SeatsTaken { limit } => forbidden(
                "user_limit_reached",
                "This server has reached its licensed number of accounts.",
            )
            .with("limit", limit),
            ProviderSignInError::LicenceEnded => forbidden(
                "license_expired",
                "The server's licence has ended: until it is renewed, no account can be made.",
            ),
            ProviderSignInError::Deactivated => {
                forbidden("account_deactivated", "This account is deactivated.")
            }
            ProviderSignInError::Unavailable(err) => err.into(),
        }
    }
}

impl From<RedeemError> for ApiError {
    fn from(err: RedeemError) -> Self {
        match err {
            RedeemError::InvalidGrant => Self::refused(
                StatusCode::BAD_REQUEST,
                "invalid_grant",
                "The sign-in code is invalid or has expired. Sign in again.",
            ),
            RedeemError::Unavailable(err) => err.into(),
        }
    }
}
