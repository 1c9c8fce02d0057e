//! Errors in the words of OpenAI's API, on the routes that speak it.

use actix_web::Error;
use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::middleware::Next;

use crate::ApiError;

/// The paths under which OpenAI's API is spoken, unknown ones included.
const OPENAI: [&str; 2] = ["/v1", "/api/ai/v1"];

/// Returns whether this path speaks OpenAI's API.
pub fn speaks_openai(path: &str) -> bool {
    let below = |rest: &str| rest.is_empty() || rest.starts_with('/');
    OPENAI.iter().any(|it| path.strip_prefix(it).is_some_and(below))
}

/// Middleware that tells errors as `{ "error": { message, type, code, param } }`
/// where OpenAI's API is spoken.
pub async fn translate_errors<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, Error> {
    let translates = speaks_openai(request.path());
    let response = next.call(request).await?;
    let error = response.response().error().filter(|_| translates);
    let translated = error.and_then(|it| it.as_error::<ApiError>()).map(ApiError::openai_response);
    Ok(match translated {
        Some(translated) => response.into_response(translated).map_into_right_body(),
        None => response.map_into_left_body(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_segments_are_of_the_surface() {
        for path in ["/v1", "/v1/", "/v1/x", "/api/ai/v1", "/api/ai/v1/chat/completions"] {
            assert!(speaks_openai(path), "{path}");
        }
        for path in ["/", "/v12", "/openapi/v1.json", "/api/v1/x", "/api/ai/chat"] {
            assert!(!speaks_openai(path), "{path}");
        }
    }
}
