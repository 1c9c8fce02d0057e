//! HTTP errors of changed settings.

use pia_policy::SettingOverrideError;
use pia_web::{ApiError, FieldError};

use crate::HttpError;

impl From<SettingOverrideError> for HttpError {
    fn from(err: SettingOverrideError) -> Self {
        let invalid = |code, message| FieldError { field: "value".to_owned(), code, message };
        Self::from(match err {
            SettingOverrideError::Unknown => ApiError::not_found(),
            SettingOverrideError::Invalid(reasons) => ApiError::invalid(
                reasons.into_iter().map(|message| invalid("invalid", message)).collect(),
            ),
            SettingOverrideError::EmptySecret => {
                ApiError::invalid(vec![invalid("empty_secret", err.to_string())])
            }
            SettingOverrideError::Unavailable(err) => err.into(),
        })
    }
}
