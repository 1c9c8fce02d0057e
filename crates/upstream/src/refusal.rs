//! Errors of calls to an upstream: responses with an error status, and calls that got no
//! response.
//!
//! Status and body are read here without interpretation: `routing/refusal.rs` in
//! `assistant` translates them into an error for the caller.

use std::error::Error as _;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body::Body;
use http_body_util::BodyExt;
use pia_assistant::UpstreamError;

/// Reads a refusal: status, `Retry-After`, and up to `limit` bytes of the body.
pub(crate) async fn read_refusal(response: reqwest::Response, limit: usize) -> UpstreamError {
    let (parts, body) = http::Response::from(response).into_parts();
    UpstreamError::Refused {
        status: parts.status.as_u16(),
        retry_after: retry_after(&parts.headers),
        body: read_prefix(body, limit).await,
    }
}

/// Returns the error of a call that got no response. Its message has all causes, but not
/// the URL, which may contain a password.
pub(crate) fn unreachable_error(err: reqwest::Error) -> UpstreamError {
    let redacted_error = err.without_url();
    let mut message = redacted_error.to_string();
    let mut source = redacted_error.source();
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    UpstreamError::Unreachable(message)
}

/// Returns the delay in `Retry-After`; `None` without one, or if it is a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Reads up to `limit` bytes of a body, or what was received before it broke off.
async fn read_prefix<B: Body<Data = Bytes> + Unpin>(mut body: B, limit: usize) -> Bytes {
    let mut prefix = BytesMut::new();
    while prefix.len() < limit
        && let Some(Ok(frame)) = body.frame().await
    {
        if let Ok(data) = frame.into_data() {
            let length = data.len().min(limit - prefix.len());
            prefix.extend_from_slice(&data.slice(..length));
        }
    }
    prefix.freeze()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http_body_util::Full;

    use super::*;

    fn headers(retry_after: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::RETRY_AFTER, HeaderValue::from_static(retry_after))])
    }

    #[test]
    fn only_a_number_of_seconds_is_parsed() {
        assert_eq!(retry_after(&headers(" 12 ")), Some(Duration::from_secs(12)));
        assert_eq!(retry_after(&headers("-1")), None);
        assert_eq!(retry_after(&headers("Sun, 06 Nov 1994 08:49:37 GMT")), None);
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }

    #[tokio::test]
    async fn only_the_beginning_of_a_long_body_is_read() {
        let prefix = read_prefix(Full::new(Bytes::from_static(b"too much")), 3).await;
        assert_eq!(prefix, "too");
    }
}
