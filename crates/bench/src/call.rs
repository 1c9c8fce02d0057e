//! Requests that are sent over and over, and how a right answer looks.

use std::net::SocketAddr;

use memchr::memmem;
use serde_json::Value;

use crate::answer::Answer;
use crate::failure::Outcome;

/// Request, ready to be written, and what must come back.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) request: Vec<u8>,
    proof: Expectation,
}

/// Condition that a correct response meets, besides its status.
#[derive(Debug, Clone)]
pub(crate) enum Expectation {
    /// These bytes are in it.
    Holds(Vec<u8>),
    /// Complete event stream of at least this many chunks.
    Stream(usize),
    /// Answer that says that nothing has changed.
    Unchanged,
}

impl Call {
    pub(crate) fn get(to: SocketAddr, path: &str, proof: Expectation) -> Self {
        let request = format!("GET {path} HTTP/1.1\r\nhost: {to}\r\n\r\n").into_bytes();
        Self { request, proof }
    }

    /// Creates a GET request with an access token.
    pub(crate) fn get_as(to: SocketAddr, path: &str, token: &str, proof: Expectation) -> Self {
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: {to}\r\nauthorization: Bearer {token}\r\n\r\n");
        Self { request: request.into_bytes(), proof }
    }

    /// Creates a conditional GET request of a client that has the response with
    /// this entity tag.
    pub(crate) fn get_unless(to: SocketAddr, path: &str, token: &str, tag: &str) -> Self {
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: {to}\r\nauthorization: Bearer {token}\r\n\
             if-none-match: {tag}\r\n\r\n"
        );
        Self { request: request.into_bytes(), proof: Expectation::Unchanged }
    }

    pub(crate) fn post(post: &Post<'_>, proof: Expectation) -> Self {
        Self { request: post.bytes(), proof }
    }

    /// Checks that the response is the one this call requires.
    pub(crate) fn check(&self, answer: &Answer) -> Outcome<()> {
        let right = match &self.proof {
            Expectation::Unchanged => answer.status == 304 && answer.body.is_empty(),
            _ if answer.status != 200 => false,
            Expectation::Holds(bytes) => memmem::find(&answer.body, bytes).is_some(),
            Expectation::Stream(chunks) => is_whole_stream(&answer.body, *chunks),
        };
        if right {
            return Ok(());
        }
        let body = String::from_utf8_lossy(&answer.body);
        let begin: String = body.chars().take(300).collect();
        Err(format!("a wrong answer, status {}: {begin}", answer.status).into())
    }
}

/// A JSON body on its way.
pub(crate) struct Post<'a> {
    pub(crate) to: SocketAddr,
    pub(crate) path: &'a str,
    pub(crate) token: Option<&'a str>,
    pub(crate) body: &'a Value,
}

impl Post<'_> {
    pub(crate) fn bytes(&self) -> Vec<u8> {
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

/// True for a stream without an error and with its end.
fn is_whole_stream(body: &[u8], chunks: usize) -> bool {
    let events = memmem::find_iter(body, b"data: ").count();
    // The end is an event too.
    events > chunks
        && body.ends_with(b"data: [DONE]\n\n")
        && memmem::find(body, b"data: {\"error\"").is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(proof: Expectation) -> Call {
        Call::get(SocketAddr::from(([127, 0, 0, 1], 80)), "/", proof)
    }

    fn answer(status: u16, body: &str) -> Answer {
        Answer { status, tag: None, body: body.as_bytes().to_vec() }
    }

    #[test]
    fn an_answer_must_hold_what_is_expected() {
        let call = call(Expectation::Holds(b"hello".to_vec()));

        assert!(call.check(&answer(200, "<hello>")).is_ok());
        assert!(call.check(&answer(200, "good day")).is_err());
        assert!(call.check(&answer(429, "hello")).is_err());
    }

    #[test]
    fn a_stream_must_come_whole() {
        let call = call(Expectation::Stream(2));

        assert!(call.check(&answer(200, "data: 1\n\ndata: 2\n\ndata: [DONE]\n\n")).is_ok());
        assert!(call.check(&answer(200, "data: 1\n\ndata: [DONE]\n\n")).is_err());
        assert!(call.check(&answer(200, "data: 1\n\ndata: 2\n\ndata: 3\n\n")).is_err());
        let broken = "data: 1\n\ndata: {\"error\":\"cut\"}\n\ndata: [DONE]\n\n";
        assert!(call.check(&answer(200, broken)).is_err());
    }

    #[test]
    fn who_has_everything_must_be_reported() {
        let call = call(Expectation::Unchanged);

        assert!(call.check(&answer(304, "")).is_ok());
        assert!(call.check(&answer(200, "")).is_err());
    }

    #[test]
    fn a_wrong_answer_is_displayed_by_its_beginning() {
        let wrong = answer(502, &"x".repeat(1000));

        let message = call(Expectation::Stream(2)).check(&wrong).unwrap_err().to_string();

        assert!(message.starts_with("a wrong answer, status 502: xxx"));
        assert!(message.len() < 400);
    }

    #[test]
    fn a_post_carries_its_length_and_the_token() {
        let body = serde_json::json!({ "a": "ä" });
        let to = SocketAddr::from(([127, 0, 0, 1], 80));

        let bytes = Post { to, path: "/x", token: Some("t"), body: &body }.bytes();

        let text = String::from_utf8(bytes).unwrap();
        assert!(text.starts_with("POST /x HTTP/1.1\r\nhost: 127.0.0.1:80\r\n"));
        assert!(text.contains("authorization: Bearer t\r\n"));
        assert!(text.ends_with("content-length: 10\r\n\r\n{\"a\":\"ä\"}"));
    }
}
