//! HTTP errors of changed settings.

use actix_web::http::StatusCode;
use pia_policy::SettingOverrideError;
use pia_web::{ApiError, FieldError};

use crate::HttpError;

impl From<SettingOverrideError> for HttpError {
    fn from(err: SettingOverrideError) -> Self {
        let message = err.to_string();
        Self::from(match err {
            SettingOverrideError::Unknown => ApiError::not_found(),
            SettingOverrideError::Secret => {
                ApiError::refused(StatusCode::BAD_REQUEST, "secret_setting", message)
            }
            SettingOverrideError::Invalid(reasons) => {
                let invalid =
                    |message| FieldError { field: "value".to_owned(), code: "invalid", message };
                ApiError::invalid(reasons.into_iter().map(invalid).collect())
            }
            SettingOverrideError::Unavailable(err) => err.into(),
        })
    }
}
