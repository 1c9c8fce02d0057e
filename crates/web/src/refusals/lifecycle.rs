//! HTTP errors of deleting an account.

use actix_web::http::StatusCode;
use pia_identity::DeleteError;

use super::identity::invalid;
use crate::ApiError;

impl From<DeleteError> for ApiError {
    fn from(err: DeleteError) -> Self {
        match err {
            DeleteError::Invalid(violations) => invalid(violations),
            // Not 401: clients take that for the end of their session.
            DeleteError::WrongPassword => {
                let message = "The password is wrong.";
                Self::refused(StatusCode::BAD_REQUEST, "invalid_password", message)
            }
            DeleteError::Owner(err) => err.into(),
            DeleteError::TooMany { wait } => Self::over_budget(wait),
            DeleteError::LastAdmin => {
                let message =
                    "You are the only administrator. Make someone else an administrator first.";
                Self::refused(StatusCode::CONFLICT, "last_admin", message)
            }
            DeleteError::SessionOver => Self::unauthenticated(),
            DeleteError::Gone => Self::no_such_account(),
            DeleteError::Unavailable(err) => err.into(),
        }
    }
}
