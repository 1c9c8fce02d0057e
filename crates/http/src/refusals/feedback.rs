//! HTTP errors of feedback.

use pia_policy::FeedbackError;
use pia_web::ApiError;

use super::personas::invalid_form;
use crate::HttpError;
use crate::admin::row_version::stale;

impl From<FeedbackError> for HttpError {
    fn from(err: FeedbackError) -> Self {
        Self::from(match err {
            FeedbackError::Invalid(violations) => invalid_form(violations),
            FeedbackError::Unknown => ApiError::not_found(),
            FeedbackError::Stale => stale(),
            FeedbackError::Unavailable(err) => err.into(),
        })
    }
}
