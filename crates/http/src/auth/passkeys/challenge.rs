//! Options for an authenticator, and its response.

use pia_identity::PasskeyOptions;
use pia_kernel::Secret;
use pia_web::{ApiError, FieldError};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PasskeyOptionsResponse {
    /// Token that completes the request: usable once, for five minutes.
    challenge_token: String,
    /// Options of `navigator.credentials`, as WebAuthn's JSON.
    #[schema(value_type = HashMap<String, Value>)]
    public_key: Box<RawValue>,
}

impl PasskeyOptionsResponse {
    pub(crate) fn new(options: PasskeyOptions) -> Result<Self, ApiError> {
        let challenge_token = options.token.expose().clone();
        let public_key = RawValue::from_string(options.options).map_err(ApiError::internal)?;
        Ok(Self { challenge_token, public_key })
    }
}

/// Returns the challenge's token and the authenticator's response, both of
/// which are required.
pub(crate) fn require_answer(
    token: Option<Secret<String>>,
    credential: Option<&Value>,
) -> Result<(Secret<String>, String), ApiError> {
    match (token, credential) {
        (Some(token), Some(credential)) => Ok((token, credential.to_string())),
        (None, _) => Err(missing("challengeToken")),
        (_, None) => Err(missing("credential")),
    }
}

pub(crate) fn missing(field: &str) -> ApiError {
    let message = format!("`{field}` is needed.");
    ApiError::invalid(vec![FieldError { field: field.to_owned(), code: "required", message }])
}
