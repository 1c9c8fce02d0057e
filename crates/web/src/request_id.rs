//! The id of a request, in its answer and in every line logged of it.

use std::sync::Arc;

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use uuid::Uuid;

const MAX_PROXY_ID_BYTES: usize = 128;

/// The id that this server gives a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(Arc<str>);

impl RequestId {
    pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

    pub(crate) fn generate() -> Self {
        Self(Uuid::now_v7().to_string().into())
    }

    /// Returns the id that a trusted proxy gave the request, if it is a plain
    /// one. It is logged beside ours and never stands in its place.
    pub(crate) fn of_proxy(headers: &HeaderMap) -> Option<&str> {
        let sent = headers.get(Self::HEADER).and_then(|it| it.to_str().ok());
        sent.filter(|it| is_plain(it))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn header_value(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).unwrap_or(HeaderValue::from_static("-"))
    }
}

/// Letters, digits and little else: what is logged must not forge log lines.
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
