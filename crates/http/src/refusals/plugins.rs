//! HTTP errors of plugins and signers' certificates.

use actix_web::http::StatusCode;
use pia_policy::{PluginError, TrustedCertificateError};
use pia_web::{ApiError, FieldError};

use super::personas::invalid_form;
use crate::HttpError;
use crate::admin::row_version::stale;

impl From<PluginError> for HttpError {
    fn from(err: PluginError) -> Self {
        let message = err.to_string();
        let invalid = |field: &str, code| {
            ApiError::invalid(vec![FieldError {
                field: field.to_owned(),
                code,
                message: message.clone(),
            }])
        };

        Self::from(match err {
            PluginError::Invalid(violations) => invalid_form(violations),
            PluginError::Unusable(_) => invalid("", "invalid_file"),
            PluginError::UnknownGroup(_) => invalid("groupIds", "unknown"),
            PluginError::Unknown => ApiError::not_found(),
            PluginError::Stale => stale(),
            PluginError::BuiltIn => {
                let message = "The plugin is part of the client. It can only be switched off.";
                ApiError::refused(StatusCode::CONFLICT, "builtin_plugin", message)
            }
            PluginError::Untrusted(thumbprint) => {
                let message = "The package's signer is not trusted. Add their certificate first.";
                ApiError::refused(StatusCode::BAD_REQUEST, "untrusted_signer", message)
                    .with("thumbprint", thumbprint)
            }
            PluginError::Unavailable(err) => err.into(),
        })
    }
}

impl From<TrustedCertificateError> for HttpError {
    fn from(err: TrustedCertificateError) -> Self {
        Self::from(match err {
            TrustedCertificateError::Invalid(violations) => invalid_form(violations),
            TrustedCertificateError::Known => {
                let message = "The certificate is trusted already.";
                ApiError::refused(StatusCode::CONFLICT, "certificate_known", message)
            }
            TrustedCertificateError::Unknown => ApiError::not_found(),
            TrustedCertificateError::Unavailable(err) => err.into(),
        })
    }
}
