//! HTTP errors of creating the first administrator.

use actix_web::http::StatusCode;
use pia_identity::FirstAdminError;

use crate::ApiError;

impl From<FirstAdminError> for ApiError {
    fn from(err: FirstAdminError) -> Self {
        let refused = |status, code| Self::refused(status, code, sentence(&err));

        match err {
            FirstAdminError::AlreadySetUp => refused(StatusCode::CONFLICT, "already_set_up"),
            FirstAdminError::WrongToken => refused(StatusCode::FORBIDDEN, "invalid_setup_token"),
            FirstAdminError::EmailTaken => refused(StatusCode::CONFLICT, "email_exists"),
            FirstAdminError::Suspended => refused(StatusCode::FORBIDDEN, "free_tier_suspended"),
            FirstAdminError::SeatsTaken => refused(StatusCode::FORBIDDEN, "user_limit_reached"),
            FirstAdminError::Invalid(violations) => {
                Self::invalid(violations.into_iter().map(Into::into).collect())
            }
            FirstAdminError::Unavailable(err) => err.into(),
        }
    }
}

/// Returns an error's text as a sentence.
fn sentence(err: &FirstAdminError) -> String {
    let text = err.to_string();
    let mut characters = text.chars();
    let first = characters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(characters).chain(['.']).collect()
}
