//! What a request is known by, in its answer and in every line logged of it.

use std::sync::Arc;

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use uuid::Uuid;

const LONGEST: usize = 128;

/// What a request is known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(Arc<str>);

impl RequestId {
    pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

    /// The id that the sender or a proxy gave it, if it is a plain one; else a
    /// new one.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let given = headers.get(Self::HEADER).and_then(|it| it.to_str().ok());
        match given.filter(|it| plain(it)) {
            Some(given) => Self(given.into()),
            None => Self(Uuid::now_v7().to_string().into()),
        }
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
fn plain(id: &str) -> bool {
    let allowed = |it: u8| it.is_ascii_alphanumeric() || b"-_.:".contains(&it);
    (1..=LONGEST).contains(&id.len()) && id.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_id_is_kept_and_any_other_replaced() {
        let id = |text: &'static str| {
            let headers =
                HeaderMap::from_iter([(RequestId::HEADER, HeaderValue::from_static(text))]);
            RequestId::of(&headers).as_str().to_owned()
        };

        assert_eq!(id("abc-123_4.5:6"), "abc-123_4.5:6");
        assert_eq!(id("a b").len(), 36);
        assert_eq!(id("").len(), 36);
    }
}
