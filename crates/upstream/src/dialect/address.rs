//! Address and credentials of a target.

use http::{HeaderMap, HeaderName, HeaderValue, header};
use pia_assistant::{Target, UpstreamError};
use pia_kernel::Secret;
use url::Url;

/// Appends a path to an endpoint.
pub(super) fn join_path(target: &Target, path: &str) -> String {
    format!("{}{path}", target.endpoint.trim_end_matches('/'))
}

/// Appends a path, after `/v1` if the endpoint has no path: servers are often
/// configured by name and port alone.
pub(super) fn join_versioned_path(target: &Target, path: &str) -> String {
    let endpoint = &target.endpoint;
    let has_no_path = Url::parse(endpoint).is_ok_and(|it| it.path() == "/");
    if has_no_path { join_path(target, &format!("/v1{path}")) } else { join_path(target, path) }
}

/// Returns the key as a bearer token, or no header without a key.
pub(crate) fn bearer(key: &Secret<String>) -> Result<HeaderMap, UpstreamError> {
    with_key(key, header::AUTHORIZATION, "Bearer ")
}

/// Returns the key in a header of this name, or no header without a key.
pub(super) fn with_key(
    key: &Secret<String>,
    name: HeaderName,
    prefix: &str,
) -> Result<HeaderMap, UpstreamError> {
    let key = key.expose();
    let mut headers = HeaderMap::new();
    if !key.is_empty() {
        headers.insert(name, sensitive_value(&format!("{prefix}{key}"))?);
    }
    Ok(headers)
}

fn sensitive_value(text: &str) -> Result<HeaderValue, UpstreamError> {
    let mut value = HeaderValue::try_from(text).map_err(|_invalid| {
        UpstreamError::Unreachable("its key cannot be sent in a header".to_owned())
    })?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use pia_assistant::ProviderType;

    use super::*;

    fn secret(key: &str) -> Secret<String> {
        Secret::new(key.to_owned())
    }

    fn target(endpoint: &str) -> Target {
        Target::new(ProviderType::OpenAi, endpoint, "m")
    }

    #[test]
    fn the_key_is_in_the_authorization_header_and_hidden_from_debug() {
        let headers = bearer(&secret("sk-1")).unwrap();

        assert_eq!(headers[header::AUTHORIZATION], "Bearer sk-1");
        assert!(!format!("{headers:?}").contains("sk-1"));
    }

    #[test]
    fn an_upstream_without_a_key_gets_no_header() {
        assert!(bearer(&secret("")).unwrap().is_empty());
    }

    #[test]
    fn a_key_that_no_header_can_carry_is_an_error_without_the_key() {
        let err = bearer(&secret("sk\n1")).unwrap_err();

        assert!(!err.to_string().contains("sk"), "{err}");
    }

    #[test]
    fn an_endpoint_is_completed_only_if_it_has_no_path() {
        for (endpoint, url) in [
            ("http://localhost:11434", "http://localhost:11434/v1/x"),
            ("http://localhost:11434/", "http://localhost:11434/v1/x"),
            ("http://localhost:11434/v1", "http://localhost:11434/v1/x"),
            ("https://gate.example/ollama/v1/", "https://gate.example/ollama/v1/x"),
        ] {
            assert_eq!(join_versioned_path(&target(endpoint), "/x"), url);
        }
        assert_eq!(
            join_path(&target("https://models.example/v1/"), "/x"),
            "https://models.example/v1/x"
        );
    }
}
