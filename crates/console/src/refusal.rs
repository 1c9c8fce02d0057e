//! Messages for a licence that was refused.

use actix_web::http::StatusCode;
use pia_policy::InstallError;
use pia_web::ApiError;

/// Refusal for people, who get a page, and for programs, who get JSON.
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn from_error(err: &InstallError) -> Self {
        let (status, code) = match err {
            InstallError::AlreadyLicensed => (StatusCode::CONFLICT, "already_licensed"),
            InstallError::WrongToken => (StatusCode::FORBIDDEN, "invalid_setup_token"),
            InstallError::Refused(fault) => (StatusCode::BAD_REQUEST, fault.code()),
            InstallError::Ended(_) => (StatusCode::BAD_REQUEST, "license_expired"),
            InstallError::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
        };
        let message = match err {
            InstallError::Unavailable(_) => {
                "The server could not store the licence or read its setup token: its log says why."
                    .to_owned()
            }
            reported => sentence(reported),
        };
        Self { status, code, message }
    }
}

/// The answer to a program. What failed in the server goes to the log.
pub(crate) fn refused(err: InstallError) -> ApiError {
    let Refusal { status, code, message } = Refusal::from_error(&err);
    let reported = ApiError::refused(status, code, message);
    match err {
        InstallError::Unavailable(cause) => reported.because(cause),
        _ => reported,
    }
}

/// An error's text as people read it.
pub(crate) fn sentence(text: &impl ToString) -> String {
    let text = text.to_string();
    let mut characters = text.chars();
    characters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(characters)
        .chain(['.'])
        .collect()
}
