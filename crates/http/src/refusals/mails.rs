//! HTTP errors of the outbox.

use actix_web::http::StatusCode;
use pia_outbox::MailQueueError;
use pia_web::ApiError;

use crate::HttpError;

impl From<MailQueueError> for HttpError {
    fn from(err: MailQueueError) -> Self {
        let conflict = |code, message| ApiError::refused(StatusCode::CONFLICT, code, message);
        Self::from(match err {
            MailQueueError::Unknown => ApiError::not_found(),
            MailQueueError::Busy => {
                conflict("mail_busy", "The email is being sent at the moment, or is abandoned.")
            }
            MailQueueError::NotConfigured => {
                conflict("mail_not_configured", "No relay for emails is configured.")
            }
            MailQueueError::Unavailable(err) => err.into(),
        })
    }
}
