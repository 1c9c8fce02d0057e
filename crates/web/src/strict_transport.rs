//! HTTP Strict Transport Security.

use actix_web::http::header::HeaderValue;

/// Value of `Strict-Transport-Security` in every response; without one the
/// header is not sent.
#[derive(Debug, Clone, Default)]
pub struct StrictTransport(Option<HeaderValue>);

impl StrictTransport {
    /// Parses a policy; `None` if it is invalid.
    ///
    /// Source: RFC 6797, section 6.1.
    pub fn parse(text: &str) -> Option<Self> {
        let mut directives = text.split(';').map(str::trim);
        let age = directives.next()?.strip_prefix("max-age=")?;
        let is_age = !age.is_empty() && age.bytes().all(|it| it.is_ascii_digit());
        let are_known = directives.all(|it| ["includeSubDomains", "preload"].contains(&it));
        if !(is_age && are_known) {
            return None;
        }
        let value = HeaderValue::from_str(text).ok()?;
        Some(Self(Some(value)))
    }

    pub(crate) fn header(&self) -> Option<&HeaderValue> {
        self.0.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_an_age_and_known_directives() {
        for policy in ["max-age=0", "max-age=31536000; includeSubDomains", "max-age=5;preload"] {
            assert!(StrictTransport::parse(policy).is_some(), "{policy}");
        }
        for text in
            ["", "max-age=", "max-age=-1", "includeSubDomains", "max-age=1; x", "max-age=1;"]
        {
            assert!(StrictTransport::parse(text).is_none(), "{text}");
        }
    }
}
