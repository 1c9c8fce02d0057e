//! HTTP errors of changed settings.

use pia_policy::SettingOverrideError;
use pia_web::{ApiError, FieldError};

use crate::HttpError;

impl From<SettingOverrideError> for HttpError {
    fn from(err: SettingOverrideError) -> Self {
        Self::from(match err {
            SettingOverrideError::Unknown => ApiError::not_found(),
            SettingOverrideError::Invalid(reasons) => {
                let invalid =
                    |message| FieldError { field: "value".to_owned(), code: "invalid", message };
                ApiError::invalid(reasons.into_iter().map(invalid).collect())
            }
            SettingOverrideError::Unavailable(err) => err.into(),
        })
    }
}
