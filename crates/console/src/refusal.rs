//! Error messages for a rejected licence.

use actix_web::http::StatusCode;
use pia_http::licence_refusal;
use pia_policy::InstallError;
use pia_web::ApiError;

/// Refusal, for browsers as a page and for programs as JSON.
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn from_error(err: &InstallError) -> Self {
        let (status, code) = licence_refusal(err);
        let message = match err {
            InstallError::Unavailable(_) => {
                "The server could not store the licence or read its setup token: its log says why."
                    .to_owned()
            }
            other => sentence(other),
        };
        Self { status, code, message }
    }
}

/// Returns the JSON error. Internal causes are logged only.
pub(crate) fn refused(err: InstallError) -> ApiError {
    let Refusal { status, code, message } = Refusal::from_error(&err);
    let error = ApiError::refused(status, code, message);
    match err {
        InstallError::Unavailable(cause) => error.because(cause),
        _ => error,
    }
}

/// Returns an error's text as a sentence: capitalised, with a full stop.
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
