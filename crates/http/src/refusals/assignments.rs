//! HTTP errors of assignments, schedules and operators.

use std::time::Duration;

use actix_web::http::StatusCode;
use pia_assignments::{EnqueueError, EnvelopeError, OperatorError, ScheduleError};
use pia_web::{ApiError, FieldError, RETRY_SOON};

use crate::HttpError;
use crate::admin::row_version::stale;

/// Time in which an unfinished assignment may end.
const RETRY_UNFINISHED: Duration = Duration::from_secs(5);

impl From<EnqueueError> for HttpError {
    fn from(err: EnqueueError) -> Self {
        let message = err.to_string();
        let refused = |status, code| ApiError::refused(status, code, &message);
        Self::from(match err {
            EnqueueError::Envelope(envelope) => {
                refused(StatusCode::BAD_REQUEST, envelope_code(&envelope))
            }
            EnqueueError::SkillNotGranted => refused(StatusCode::BAD_REQUEST, "skill_not_granted"),
            EnqueueError::TooMany => refused(StatusCode::TOO_MANY_REQUESTS, "too_many_assignments")
                .retry_after(RETRY_UNFINISHED),
            EnqueueError::Gone => ApiError::not_found(),
            EnqueueError::NotStarted(cause) => {
                tracing::warn!(error = %cause, "an assignment could not be started");
                refused(StatusCode::SERVICE_UNAVAILABLE, "assignment_not_started")
                    .retry_after(RETRY_SOON)
            }
            EnqueueError::Unavailable(err) => err.into(),
        })
    }
}

impl From<ScheduleError> for HttpError {
    fn from(err: ScheduleError) -> Self {
        let message = err.to_string();
        let invalid = |field: &str| {
            ApiError::invalid(vec![FieldError {
                field: field.to_owned(),
                code: "invalid",
                message: message.clone(),
            }])
        };

        Self::from(match err {
            ScheduleError::Assignment(err) => return err.into(),
            ScheduleError::Cron | ScheduleError::NoTime => invalid("cron"),
            ScheduleError::TimeZone => invalid("timeZone"),
            ScheduleError::TooMany => {
                ApiError::refused(StatusCode::CONFLICT, "too_many_schedules", &message)
            }
            ScheduleError::NotFound => ApiError::not_found(),
            ScheduleError::Unavailable(err) => err.into(),
        })
    }
}

fn envelope_code(err: &EnvelopeError) -> &'static str {
    match err {
        EnvelopeError::Unreadable => "invalid_envelope",
        EnvelopeError::UnknownVersion => "unsupported_schema_version",
        EnvelopeError::TooLarge(_) => "envelope_too_large",
        EnvelopeError::UnknownType => "unknown_entity_type",
        EnvelopeError::UndeclaredType(_) => "undeclared_entity_type",
    }
}

impl From<OperatorError> for HttpError {
    fn from(err: OperatorError) -> Self {
        let message = err.to_string();
        let invalid = |field: &str, code, message: &str| {
            ApiError::invalid(vec![FieldError {
                field: field.to_owned(),
                code,
                message: message.to_owned(),
            }])
        };

        let refused = |code| ApiError::refused(StatusCode::CONFLICT, code, &message);
        Self::from(match err {
            OperatorError::NotFound => ApiError::not_found(),
            OperatorError::Stale => stale(),
            OperatorError::NameTaken => refused("name_taken"),
            OperatorError::BuiltIn => refused("operator_built_in"),
            OperatorError::UnknownGroup => invalid("groupIds", "unknown", &message),
            OperatorError::Invalid(_, rule) => invalid("", "invalid", rule),
            OperatorError::Unavailable(err) => err.into(),
        })
    }
}
