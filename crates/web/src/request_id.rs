//! Request ids, in responses and in the log.

use std::sync::Arc;

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use uuid::Uuid;

/// Maximum length of a proxy's id; a longer one is not logged.
const MAX_PROXY_ID_BYTES: usize = 128;

/// Id that this server gives a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(Arc<str>);

impl RequestId {
    pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

    pub(crate) fn generate() -> Self {
        Self(Uuid::now_v7().to_string().into())
    }

    /// Returns the id that a trusted proxy gave the request, if its characters
    /// are harmless. It is logged beside this server's own and never replaces
    /// it.
    pub(crate) fn of_proxy(headers: &HeaderMap) -> Option<&str> {
        headers.get(Self::HEADER).and_then(|it| it.to_str().ok()).filter(|it| is_plain(it))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn header_value(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).unwrap_or(HeaderValue::from_static("-"))
    }
}

/// Returns whether an id consists of letters, digits and a few other
/// characters: it must not forge log lines.
fn is_plain(id: &str) -> bool {
    let allowed = |it: u8| it.is_ascii_alphanumeric() || b"-_.:".contains(&it);
    (1..=MAX_PROXY_ID_BYTES).contains(&id.len()) && id.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_ids_of_a_proxy_are_read() {
        let id = |text: &str| {
            let value = HeaderValue::from_bytes(text.as_bytes()).unwrap();
            let headers = HeaderMap::from_iter([(RequestId::HEADER, value)]);
            RequestId::of_proxy(&headers).map(str::to_owned)
        };

        assert_eq!(id("abc-123_4.5:6").as_deref(), Some("abc-123_4.5:6"));
        assert!(id(&"x".repeat(128)).is_some());
        for forged in ["a b", "", "{\"forged\":1}", "a,b", "ümlaut", &"x".repeat(129)] {
            assert_eq!(id(forged), None, "{forged}");
        }
    }
}
