//! Repeated requests, with the expected response.
//!
//! Every load takes a `Call` and checks each response by it, so that a contender
//! cannot be fast by being wrong.

use std::net::SocketAddr;

use memchr::memmem;
use serde_json::Value;

use crate::answer::Response;
use crate::failure::Outcome;

/// Serialized request, and the response that it requires.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) request: Vec<u8>,
    expectation: Expectation,
}

/// Condition that a correct response meets, besides its status.
#[derive(Debug, Clone)]
pub(crate) enum Expectation {
    /// Response that contains these bytes.
    Holds(Vec<u8>),
    /// Complete event stream of at least this many chunks.
    Stream(usize),
    /// Status 304 without a body.
    Unchanged,
}

impl Call {
    pub(crate) fn get(to: SocketAddr, path: &str, expectation: Expectation) -> Self {
        let request = format!("GET {path} HTTP/1.1\r\nhost: {to}\r\n\r\n").into_bytes();
        Self { request, expectation }
    }

    /// Creates a GET request with an access token.
    pub(crate) fn get_as(
        to: SocketAddr,
        path: &str,
        token: &str,
        expectation: Expectation,
    ) -> Self {
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: {to}\r\nauthorization: Bearer {token}\r\n\r\n");
        Self { request: request.into_bytes(), expectation }
    }

    /// Creates a conditional GET request of a client that has the response with
    /// this entity tag.
    pub(crate) fn get_unless(to: SocketAddr, path: &str, token: &str, tag: &str) -> Self {
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: {to}\r\nauthorization: Bearer {token}\r\n\
             if-none-match: {tag}\r\n\r\n"
        );
        Self { request: request.into_bytes(), expectation: Expectation::Unchanged }
    }

    pub(crate) fn post(post: &Post<'_>, expectation: Expectation) -> Self {
        Self { request: post.to_bytes(), expectation }
    }

    /// Checks that the response is the one this call requires.
    pub(crate) fn check(&self, response: &Response) -> Outcome<()> {
        let is_correct = match &self.expectation {
            Expectation::Unchanged => response.status == 304 && response.body.is_empty(),
            _ if response.status != 200 => false,
            Expectation::Holds(bytes) => memmem::find(&response.body, bytes).is_some(),
            Expectation::Stream(chunks) => is_complete_stream(&response.body, *chunks),
        };

        if is_correct {
            return Ok(());
        }

        let body = String::from_utf8_lossy(&response.body);
        let excerpt: String = body.chars().take(300).collect();

        Err(format!("a wrong answer, status {}: {excerpt}", response.status).into())
    }
}

/// POST request with a JSON body.
pub(crate) struct Post<'a> {
    pub(crate) to: SocketAddr,
    pub(crate) path: &'a str,
    pub(crate) token: Option<&'a str>,
    pub(crate) body: &'a Value,
}

impl Post<'_> {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let Self { to, path, token, body } = self;
        let body = body.to_string();
        let bearer = token.map(|it| format!("authorization: Bearer {it}\r\n")).unwrap_or_default();
        format!(
            "POST {path} HTTP/1.1\r\nhost: {to}\r\n{bearer}content-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    }
}

/// Returns `true` for a stream with an end marker and no error.
fn is_complete_stream(body: &[u8], chunks: usize) -> bool {
    let events = memmem::find_iter(body, b"data: ").count();
    // The end marker is an event too.
    events > chunks
        && body.ends_with(b"data: [DONE]\n\n")
        && memmem::find(body, b"data: {\"error\"").is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call_expecting(expectation: Expectation) -> Call {
        Call::get(SocketAddr::from(([127, 0, 0, 1], 80)), "/", expectation)
    }

    fn response(status: u16, body: &str) -> Response {
        Response { status, tag: None, body: body.as_bytes().to_vec() }
    }

    #[test]
    fn a_response_must_contain_the_expected_bytes() {
        let call = call_expecting(Expectation::Holds(b"hello".to_vec()));

        assert!(call.check(&response(200, "<hello>")).is_ok());
        assert!(call.check(&response(200, "good day")).is_err());
        assert!(call.check(&response(429, "hello")).is_err());
    }

    #[test]
    fn a_stream_must_be_complete() {
        let call = call_expecting(Expectation::Stream(2));

        assert!(call.check(&response(200, "data: 1\n\ndata: 2\n\ndata: [DONE]\n\n")).is_ok());
        assert!(call.check(&response(200, "data: 1\n\ndata: [DONE]\n\n")).is_err());
        assert!(call.check(&response(200, "data: 1\n\ndata: 2\n\ndata: 3\n\n")).is_err());
        let broken = "data: 1\n\ndata: {\"error\":\"cut\"}\n\ndata: [DONE]\n\n";
        assert!(call.check(&response(200, broken)).is_err());
    }

    #[test]
    fn a_conditional_request_requires_status_304() {
        let call = call_expecting(Expectation::Unchanged);

        assert!(call.check(&response(304, "")).is_ok());
        assert!(call.check(&response(200, "")).is_err());
    }

    #[test]
    fn an_error_quotes_the_start_of_a_wrong_response() {
        let wrong = response(502, &"x".repeat(1000));

        let message = call_expecting(Expectation::Stream(2)).check(&wrong).unwrap_err().to_string();

        assert!(message.starts_with("a wrong answer, status 502: xxx"));
        assert!(message.len() < 400);
    }

    #[test]
    fn a_post_has_its_length_and_the_token() {
        let body = serde_json::json!({ "a": "ä" });
        let to = SocketAddr::from(([127, 0, 0, 1], 80));

        let bytes = Post { to, path: "/x", token: Some("t"), body: &body }.to_bytes();

        let text = String::from_utf8(bytes).unwrap();
        assert!(text.starts_with("POST /x HTTP/1.1\r\nhost: 127.0.0.1:80\r\n"));
        assert!(text.contains("authorization: Bearer t\r\n"));
        assert!(text.ends_with("content-length: 10\r\n\r\n{\"a\":\"ä\"}"));
    }
}
