//! Bodies of requests.

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use pia_web::{ApiError, RawBody};
use serde_json::{Map, Value};

use crate::refusals::invalid;

/// Maximum number of values in a body.
const MAX_VALUES: usize = 100_000;

/// JSON object, no longer than the route table allows.
pub(crate) struct Resource(pub(crate) Map<String, Value>);

impl FromRequest for Resource {
    type Error = ApiError;
    type Future = Pin<Box<dyn Future<Output = Result<Self, ApiError>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let expected = RawBody::expect_json(request);
        let raw = RawBody::from_request(request, payload);
        Box::pin(async move {
            expected?;
            let raw = raw.await?;
            raw.expect_values(MAX_VALUES)?;
            match serde_json::from_slice(&raw) {
                Ok(Value::Object(members)) => Ok(Self(members)),
                Ok(_) => Err(invalid("invalidSyntax", "The body must be a JSON object.")),
                Err(_may_quote) => Err(invalid("invalidSyntax", "The body must be JSON.")),
            }
        })
    }
}

/// Returns a member by its name, without regard to case (RFC 7643, 2.1).
pub(crate) fn member<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    members.iter().find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// Returns a text; `None` for null.
pub(crate) fn text(name: &str, value: &Value) -> Result<Option<String>, ApiError> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        _ => Err(invalid("invalidValue", format!("`{name}` must be a string."))),
    }
}

/// Returns a boolean. Entra ID sends `"True"` and `"False"` too.
pub(crate) fn boolean(name: &str, value: &Value) -> Result<bool, ApiError> {
    let text = value.as_str().map(str::to_ascii_lowercase);
    match (value, text.as_deref()) {
        (Value::Bool(value), _) => Ok(*value),
        (_, Some("true")) => Ok(true),
        (_, Some("false")) => Ok(false),
        _ => Err(invalid("invalidValue", format!("`{name}` must be a boolean."))),
    }
}
