//! HTTP errors of the installation of a licence.

use actix_web::http::StatusCode;
use pia_policy::InstallError;
use pia_web::ApiError;

use crate::HttpError;

/// Returns the status and code of a refused licence.
pub fn licence_refusal(err: &InstallError) -> (StatusCode, &'static str) {
    match err {
        InstallError::AlreadyLicensed => (StatusCode::CONFLICT, "already_licensed"),
        InstallError::WrongToken => (StatusCode::FORBIDDEN, "invalid_setup_token"),
        InstallError::Refused(err) => (StatusCode::BAD_REQUEST, err.code()),
        InstallError::Ended(_) => (StatusCode::BAD_REQUEST, "license_expired"),
        InstallError::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
    }
}

impl From<InstallError> for HttpError {
    fn from(err: InstallError) -> Self {
        let (status, code) = licence_refusal(&err);
        Self::from(match err {
            InstallError::Unavailable(err) => err.into(),
            err => ApiError::refused(status, code, err.to_string()),
        })
    }
}
