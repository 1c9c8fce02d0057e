//! Forms of errors, for surfaces of other protocols than our own.

use actix_web::Error;
use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::middleware::Next;

use crate::ApiError;

/// Form in which a client reads errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Our own: `{ "error": code, "message": text }`.
    Pia,
    /// OpenAI's: `{ "error": { message, type, code, param } }`.
    OpenAi,
    /// SCIM's: `{ "schemas": […], "status": text, "scimType": code, "detail": text }`.
    Scim,
}

/// The paths under which another form than our own is used, unknown ones
/// included.
const PREFIXES: [(&str, Dialect); 3] =
    [("/v1", Dialect::OpenAi), ("/api/ai/v1", Dialect::OpenAi), ("/scim/v2", Dialect::Scim)];

impl Dialect {
    /// Returns the form that is used under a path.
    pub fn from_path(path: &str) -> Self {
        let is_below = |suffix: &str| suffix.is_empty() || suffix.starts_with('/');
        PREFIXES
            .into_iter()
            .find(|(prefix, _)| path.strip_prefix(prefix).is_some_and(is_below))
            .map_or(Self::Pia, |(_, dialect)| dialect)
    }
}

/// Middleware that translates errors into the form of the path.
pub async fn translate_errors<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, Error> {
    let dialect = Dialect::from_path(request.path());
    let response = next.call(request).await?;
    let error = if dialect == Dialect::Pia { None } else { response.response().error() };
    let translation = error.and_then(|it| it.as_error::<ApiError>()).map(|it| it.response(dialect));
    Ok(match translation {
        Some(translation) => response.into_response(translation).map_into_right_body(),
        None => response.map_into_left_body(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_segments_match() {
        for path in ["/v1", "/v1/", "/v1/x", "/api/ai/v1", "/api/ai/v1/chat/completions"] {
            assert_eq!(Dialect::from_path(path), Dialect::OpenAi, "{path}");
        }
        for path in ["/", "/v12", "/openapi/v1.json", "/api/v1/x", "/api/ai/chat", "/scim/v20"] {
            assert_eq!(Dialect::from_path(path), Dialect::Pia, "{path}");
        }
        assert_eq!(Dialect::from_path("/scim/v2/Users"), Dialect::Scim);
    }
}
