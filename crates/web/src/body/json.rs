//! Parsing of JSON bodies, with the path of an error.
//!
//! Malformed JSON is answered with line and column (`malformed_json`), a value of
//! the wrong type with the path of its field (`validation_failed`).

use actix_web::http::StatusCode;
use pia_kernel::truncate;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer};

use crate::{ApiError, FieldError};

/// Maximum length of a description of an invalid value, in characters.
const MAX_REASON_CHARS: usize = 200;

pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    // serde would accept an array as the values of a struct in order.
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(match serde_json::from_slice::<IgnoredAny>(bytes) {
            Ok(_) => no_object(),
            Err(err) => malformed_json_error(&err),
        });
    }

    let mut json = serde_json::Deserializer::from_slice(bytes);
    let parsed = serde_path_to_error::deserialize(&mut json).map_err(|err| {
        let field = truncate(&err.path().to_string(), MAX_REASON_CHARS).to_owned();
        let json_err = err.into_inner();
        if json_err.is_data() {
            let field = if field == "." { String::new() } else { field };
            let reason = format_json_error(&json_err);
            let message = if field.is_empty() { reason } else { format!("`{field}`: {reason}") };
            return ApiError::invalid(vec![FieldError { field, code: "invalid", message }]);
        }
        malformed_json_error(&json_err)
    })?;

    json.end().map_err(|err| malformed_json_error(&err))?;

    Ok(parsed)
}

/// Deserialises a member of a body; null is its default value, as an absent key is.
pub fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

fn no_object() -> ApiError {
    ApiError::invalid(vec![FieldError {
        field: String::new(),
        code: "invalid",
        message: "The body must be a JSON object.".to_owned(),
    }])
}

/// Returns serde's description of an error, without line and column, which the
/// field name replaces, and without the value, which may be a secret or of any
/// length.
pub fn format_json_error(err: &serde_json::Error) -> String {
    let description = err.to_string();
    let location = if err.line() > 0 { description.rsplit_once(" at line ") } else { None };
    let reason = location.map_or(description.as_str(), |(reason, _)| reason);
    let kinds = ["invalid type: ", "invalid value: ", "unknown variant "];
    let Some(kind) = kinds.into_iter().find(|it| reason.starts_with(it)) else {
        return truncate(reason, MAX_REASON_CHARS).to_owned();
    };

    let parts = reason.strip_prefix(kind).and_then(|it| it.rsplit_once(", expected "));
    let Some((actual_value, expected)) = parts else {
        return kind.trim_end_matches([':', ' ']).to_owned();
    };

    let actual = actual_value.split(['`', '"']).next().unwrap_or_default();
    let expected = truncate(expected, MAX_REASON_CHARS);

    format!("{}, expected {expected}", format!("{kind}{actual}").trim_end())
}

/// Returns the error for a body that is not valid JSON.
pub fn malformed_json_error(err: &serde_json::Error) -> ApiError {
    let message = format!(
        "The request body is not valid JSON (line {}, column {}).",
        err.line(),
        err.column()
    );
    ApiError::refused(StatusCode::BAD_REQUEST, "malformed_json", message)
}
