//! The AI routes as the desktop client uses them.
//!
//! `Heard` parses a finished stream by the rules of the desktop client, and fails
//! where that client would; `Live` reads a response while it arrives.

use std::time::Duration;

use pia_demo_upstream::Demo;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{Client, TestResponse, parse, unchunked};
use crate::harness::{TestApp, TestConfig};

/// Path of the chat.
pub const CHAT: &str = "/api/ai/chat";
/// Path of the OpenAI-compatible chat.
pub const COMPLETIONS: &str = "/api/ai/chat/completions";
/// Path of the prompt optimiser.
pub const OPTIMIZE: &str = "/api/ai/optimize";
/// Header of a JSON body.
pub const JSON: (&str, &str) = ("content-type", "application/json");

/// Error of a model that took too long; the client compares the text.
pub const TIMED_OUT: (&str, &str) = ("Bad Gateway", "Request to upstream AI provider timed out.");

/// Timeout, longer than any intended wait of a stream.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Returns the configuration of a server on SQLite that calls this upstream.
pub fn upstream_config(endpoint: &str) -> TestConfig {
    TestConfig::on(TestDatabase::sqlite()).with_upstream(endpoint)
}

/// Starts a demo upstream, and a server on SQLite that calls it.
pub async fn with_demo() -> (Demo, TestApp) {
    let demo = Demo::start(0).expect("a demo upstream");
    let app = upstream_config(&demo.endpoint()).start().await;
    (demo, app)
}

/// Returns a request with one message, for a non-streaming response.
pub fn chat_request(text: &str) -> Value {
    json!({ "messages": [{ "role": "user", "content": text }], "stream": false })
}

/// Returns a streaming request that includes usage, as the desktop client sends it.
pub fn streaming_request(text: &str) -> Value {
    json!({
        "messages": [{ "role": "user", "content": text }],
        "stream": true,
        "stream_options": { "include_usage": true },
    })
}

/// Adds a tool to a request.
pub fn with_tool(mut request: Value) -> Value {
    let parameters = json!({
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "required": ["city"],
    });
    request["tools"] = json!([{
        "type": "function",
        "function": { "name": "weather", "description": "Tells it.", "parameters": parameters },
    }]);
    request
}

/// Error in an event stream.
#[derive(Debug, PartialEq, Eq)]
pub struct HeardError {
    /// Title that the client shows.
    pub title: String,
    /// Text below the title.
    pub text: String,
}

/// Event stream as the desktop client parses it.
#[derive(Debug, Default)]
pub struct Heard {
    /// Text of all chunks, concatenated.
    pub text: String,
    /// Tool calls, each assembled from its chunks.
    pub calls: Vec<StreamedCall>,
    /// Finish reason; `None` if the stream ended without one.
    pub finish: Option<String>,
    /// Prompt and completion tokens, as last reported.
    pub usage: Option<(u64, u64)>,
    /// Error that the stream ended with.
    pub error: Option<HeardError>,
    /// True once `[DONE]` was received.
    pub done: bool,
    /// Every received object, in order.
    pub chunks: Vec<Value>,
    /// Lines that the client ignores, except comments and blank lines.
    pub odd: Vec<String>,
}

/// Tool call, joined from its chunks.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct StreamedCall {
    /// Id of the call.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments, as JSON text.
    pub arguments: String,
    index: Option<u64>,
}

impl Heard {
    /// Parses a stream by the client's rules: only lines that begin with
    /// `data: `, one JSON object each, until `[DONE]`.
    pub fn from(stream: &str) -> Self {
        let mut heard = Self::default();
        for line in stream.lines() {
            match line.strip_prefix("data: ") {
                Some(_) if heard.done => heard.odd.push(line.to_owned()),
                Some("[DONE]") => heard.done = true,
                Some(json) => match serde_json::from_str(json) {
                    Ok(chunk) => heard.add_chunk(chunk),
                    Err(_) => heard.odd.push(line.to_owned()),
                },
                None if line.is_empty() || line.starts_with(':') => {}
                None => heard.odd.push(line.to_owned()),
            }
        }

        heard
    }

    /// Parses a successful response, which must be a complete, valid stream.
    pub fn of(response: &TestResponse) -> Self {
        assert_eq!(response.status, 200, "{}", response.text());
        assert_eq!(response.header("content-type"), Some("text/event-stream"));
        let heard = Self::from(&response.text());
        assert!(heard.done && heard.odd.is_empty(), "{}", response.text());
        heard
    }

    fn add_chunk(&mut self, chunk: Value) {
        assert!(chunk.is_object(), "the client fails at {chunk}");
        let usage = &chunk["usage"];
        let input = usage["prompt_tokens"].as_u64().or(usage["input_tokens"].as_u64());
        let output = usage["completion_tokens"].as_u64().or(usage["output_tokens"].as_u64());
        if let (Some(input), Some(output)) = (input, output) {
            self.usage = Some((input, output));
        }

        match &chunk["error"] {
            Value::Null => {}
            Value::String(title) => {
                let text = chunk["message"].as_str().unwrap_or(title);
                self.error = Some(HeardError { title: title.clone(), text: text.to_owned() });
            }
            nested => {
                self.error =
                    Some(HeardError { title: "nested".to_owned(), text: nested.to_string() });
            }
        }

        if let Some(choices) = chunk.get("choices") {
            assert!(choices.is_array(), "the client fails at {chunk}");
            self.add_choice(&choices[0]);
        }

        self.chunks.push(chunk);
    }

    /// Adds a choice; without a delta it is ignored, its finish reason included.
    fn add_choice(&mut self, choice: &Value) {
        let Some(delta) = choice.get("delta") else { return };
        self.text.push_str(delta["content"].as_str().unwrap_or_default());
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.add_fragment(call);
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.finish = Some(reason.to_owned());
        }
    }

    /// Appends a fragment to the call with its id, or else with its index.
    fn add_fragment(&mut self, fragment: &Value) {
        let id = fragment["id"].as_str();
        let index = fragment["index"].as_u64();
        let position = self.calls.iter().rposition(|it| match id {
            Some(id) => it.id == id,
            None => index.is_some() && it.index == index,
        });

        let position = position.unwrap_or_else(|| {
            let id = id.unwrap_or_default().to_owned();
            self.calls.push(StreamedCall { id, index, ..StreamedCall::default() });
            self.calls.len() - 1
        });

        let call = &mut self.calls[position];
        let function = &fragment["function"];
        call.name.push_str(function["name"].as_str().unwrap_or_default());
        call.arguments.push_str(function["arguments"].as_str().unwrap_or_default());
    }
}

/// Response that is read while it arrives.
pub struct Live {
    socket: TcpStream,
    raw: Vec<u8>,
}

impl Live {
    /// Sends a request without waiting for the response.
    pub async fn ask(client: &Client, path: &str, body: &Value) -> Self {
        Self::on_socket(client.begin("POST", path, &[JSON], body.to_string().as_bytes()).await)
    }

    /// Reads the response to a request that was already sent on this socket.
    pub fn on_socket(socket: TcpStream) -> Self {
        Self { socket, raw: Vec::new() }
    }

    /// Reads until the text has arrived, and returns the body so far.
    pub async fn until(&mut self, text: &str) -> String {
        self.until_count(text, 1).await
    }

    /// Reads until the text has arrived `count` times, and returns the body so far.
    pub async fn until_count(&mut self, text: &str, count: usize) -> String {
        let reading = async {
            loop {
                let body = self.text();
                if body.matches(text).count() >= count {
                    return body;
                }
                let bytes_read = self.socket.read_buf(&mut self.raw).await.expect("a stream");
                assert!(bytes_read > 0, "{text:?} never arrived: {body}");
            }
        };
        tokio::time::timeout(TIMEOUT, reading).await.expect("the text in time")
    }

    /// Reads the response to its end.
    pub async fn read_to_end(mut self) -> TestResponse {
        let reading = self.socket.read_to_end(&mut self.raw);
        // An aborted connection is an end too.
        drop(tokio::time::timeout(TIMEOUT, reading).await.expect("an end in time"));
        parse(&self.raw)
    }

    /// Closes the sending side and keeps reading.
    pub async fn half_close(&mut self) {
        self.socket.shutdown().await.expect("an open socket");
    }

    fn text(&self) -> String {
        let end = self.raw.windows(4).position(|it| it == b"\r\n\r\n");
        let body = end.map(|end| unchunked(&self.raw[end + 4..])).unwrap_or_default();
        String::from_utf8_lossy(&body).into_owned()
    }
}
