//! Endpoints of contenders, and the calls they are measured with.

use std::net::SocketAddr;

use serde_json::json;

use crate::call::{Call, Expectation, Post};

/// Number of chunks of a stream that carry text.
pub(crate) const CHUNKS: u32 = 100;

const MESSAGE: &str = "Say something that takes a hundred chunks.";
/// Directives in the message for the demo upstream.
const SLOW: &str = "demo:slow=500 demo:chunks=16";
const SLOW_CHUNKS: usize = 16;
const LONG: &str = "demo:chunks=100000";
const LONG_CHUNKS: usize = 100_000;
/// Path of chat completions in the API of OpenAI.
pub(crate) const OPENAI_PATH: &str = "/v1/chat/completions";
/// Path of chat completions of the server.
pub(crate) const SERVER_PATH: &str = "/api/ai/chat/completions";

/// Endpoint of a contender, with the credentials and the model it requires.
pub(crate) struct ChatEndpoint<'a> {
    pub(crate) to: SocketAddr,
    pub(crate) path: &'a str,
    pub(crate) token: Option<&'a str>,
    pub(crate) model: Option<&'a str>,
}

/// Requests that every contender is measured with.
pub(crate) struct Calls {
    /// Call that is answered in full.
    pub(crate) full: Call,
    /// Call that is answered as a stream.
    pub(crate) stream: Call,
    /// Stream with a chunk every half second.
    pub(crate) slow: Call,
    /// Stream of about 20 MB.
    pub(crate) long: Call,
}

impl ChatEndpoint<'_> {
    /// Creates an endpoint that requires no credentials, like that of the
    /// upstream.
    pub(crate) fn without_token(to: SocketAddr) -> Self {
        Self { to, path: OPENAI_PATH, token: None, model: None }
    }

    /// Creates the calls, whose full response is to hold this content.
    pub(crate) fn calls(&self, content: &[u8]) -> Calls {
        Calls {
            full: self.call(MESSAGE, false, Expectation::Holds(content.to_vec())),
            stream: self.call(MESSAGE, true, Expectation::Stream(CHUNKS as usize)),
            slow: self.call(SLOW, true, Expectation::Stream(SLOW_CHUNKS)),
            long: self.call(LONG, true, Expectation::Stream(LONG_CHUNKS)),
        }
    }

    fn call(&self, message: &str, stream: bool, expectation: Expectation) -> Call {
        let Self { to, path, token, model } = *self;
        let mut body = json!({ "messages": [{ "role": "user", "content": message }] });
        if let Some(members) = body.as_object_mut() {
            if stream {
                members.insert("stream".to_owned(), json!(true));
                members.insert("stream_options".to_owned(), json!({ "include_usage": true }));
            }
            if let Some(model) = model {
                members.insert("model".to_owned(), json!(model));
            }
        }

        Call::post(&Post { to, path, token, body: &body }, expectation)
    }
}
