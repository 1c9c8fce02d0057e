//! The AI routes as the desktop client uses them.

use std::time::Duration;

use pia_demo_upstream::Demo;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{Answer, Client, parse, unchunked};
use crate::harness::{Setting, TestApp};

/// Path of the chat.
pub const CHAT: &str = "/api/ai/chat";
/// Path of the OpenAI-compatible chat.
pub const COMPLETIONS: &str = "/api/ai/chat/completions";
/// Path of the prompt optimiser.
pub const OPTIMIZE: &str = "/api/ai/optimize";
/// Header of a JSON body.
pub const JSON: (&str, &str) = ("content-type", "application/json");

/// Error that reports the client that its model took too long; it compares the
/// text.
pub const TIMED_OUT: (&str, &str) = ("Bad Gateway", "Request to upstream AI provider timed out.");

/// Longer than anything a stream waits for on purpose.
const PATIENCE: Duration = Duration::from_secs(15);

/// A server on SQLite with this upstream.
pub fn before(endpoint: &str) -> Setting {
    Setting::on(TestDatabase::sqlite()).with_upstream(endpoint)
}

/// A demo upstream, and a server on SQLite before it.
pub async fn with_demo() -> (Demo, TestApp) {
    let demo = Demo::start(0).expect("a demo upstream");
    let app = before(&demo.endpoint()).start().await;
    (demo, app)
}

/// A request of one message, for a whole answer.
pub fn chat_request(text: &str) -> Value {
    json!({ "messages": [{ "role": "user", "content": text }], "stream": false })
}

/// Streams a call that requests usage, as the desktop client does.
pub fn streamed(text: &str) -> Value {
    json!({
        "messages": [{ "role": "user", "content": text }],
        "stream": true,
        "stream_options": { "include_usage": true },
    })
}

/// Returns a call with a tool.
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

/// Event stream as the desktop client parses it.
#[derive(Debug, Default)]
pub struct Heard {
    /// Text of the answer, joined.
    pub text: String,
    /// Calls of tools.
    pub calls: Vec<Call>,
    /// Reason why the answer ended.
    pub finish: Option<String>,
    /// Tokens of the prompt and of the answer, as reported last.
    pub usage: Option<(u64, u64)>,
    /// Title and text.
    pub error: Option<(String, String)>,
    /// True if the stream said that it was done.
    pub done: bool,
    /// Every object that came, in order.
    pub chunks: Vec<Value>,
    /// Lines that it passes over, comments and blank ones aside.
    pub odd: Vec<String>,
}

/// Call of a tool, joined from its chunks.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Id of the call.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments, as JSON text.
    pub arguments: String,
    index: Option<u64>,
}

impl Heard {
    /// Reads a stream by the client's rules: only lines that begin with
    /// `data: `, one JSON object each, until `[DONE]`.
    pub fn from(stream: &str) -> Self {
        let mut heard = Self::default();
        for line in stream.lines() {
            match line.strip_prefix("data: ") {
                Some(_) if heard.done => heard.odd.push(line.to_owned()),
                Some("[DONE]") => heard.done = true,
                Some(json) => match serde_json::from_str(json) {
                    Ok(chunk) => heard.take(chunk),
                    Err(_) => heard.odd.push(line.to_owned()),
                },
                None if line.is_empty() || line.starts_with(':') => {}
                None => heard.odd.push(line.to_owned()),
            }
        }
        heard
    }

    /// The whole stream, which came as it must.
    pub fn of(answer: &Answer) -> Self {
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.header("content-type"), Some("text/event-stream"));
        let heard = Self::from(&answer.text());
        assert!(heard.done && heard.odd.is_empty(), "{}", answer.text());
        heard
    }

    fn take(&mut self, chunk: Value) {
        assert!(chunk.is_object(), "the client fails at {chunk}");
        let usage = &chunk["usage"];
        let count = |one: &str, other: &str| usage[one].as_u64().or(usage[other].as_u64());
        let reported =
            (count("prompt_tokens", "input_tokens"), count("completion_tokens", "output_tokens"));
        if let (Some(input), Some(output)) = reported {
            self.usage = Some((input, output));
        }
        match &chunk["error"] {
            Value::Null => {}
            Value::String(title) => {
                let text = chunk["message"].as_str().unwrap_or(title);
                self.error = Some((title.clone(), text.to_owned()));
            }
            nested => self.error = Some(("nested".to_owned(), nested.to_string())),
        }
        if let Some(choices) = chunk.get("choices") {
            assert!(choices.is_array(), "the client fails at {chunk}");
            self.choose(&choices[0]);
        }
        self.chunks.push(chunk);
    }

    /// A choice without a delta is passed over, its end included.
    fn choose(&mut self, choice: &Value) {
        let Some(delta) = choice.get("delta") else { return };
        self.text.push_str(delta["content"].as_str().unwrap_or_default());
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.called(call);
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.finish = Some(reason.to_owned());
        }
    }

    /// A fragment belongs to the call with its id, or else with its index.
    fn called(&mut self, fragment: &Value) {
        let (id, index) = (fragment["id"].as_str(), fragment["index"].as_u64());
        let found = self
            .calls
            .iter()
            .rposition(|it| id.map_or(index.is_some() && it.index == index, |id| it.id == id));
        let at = found.unwrap_or_else(|| {
            self.calls.push(Call { index, ..Call::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        call.id.push_str(id.filter(|_| found.is_none()).unwrap_or_default());
        let function = &fragment["function"];
        call.name.push_str(function["name"].as_str().unwrap_or_default());
        call.arguments.push_str(function["arguments"].as_str().unwrap_or_default());
    }
}

/// An answer that is read as it comes.
pub struct Live {
    socket: TcpStream,
    raw: Vec<u8>,
}

impl Live {
    /// Asks, and waits for nothing.
    pub async fn ask(client: &Client, path: &str, body: &Value) -> Self {
        Self::reading(client.begin("POST", path, &[JSON], body.to_string().as_bytes()).await)
    }

    /// Reads from a socket on which something was asked.
    pub fn reading(socket: TcpStream) -> Self {
        Self { socket, raw: Vec::new() }
    }

    /// Reads until these words have come; gives everything so far.
    pub async fn until(&mut self, words: &str) -> String {
        self.times(words, 1).await
    }

    /// Reads until these words have come so many times.
    pub async fn times(&mut self, words: &str, count: usize) -> String {
        let reading = async {
            loop {
                let text = self.text();
                if text.matches(words).count() >= count {
                    return text;
                }
                let read = self.socket.read_buf(&mut self.raw).await.expect("a stream");
                assert!(read > 0, "{words:?} never came: {text}");
            }
        };
        let read = tokio::time::timeout(PATIENCE, reading).await;
        read.expect("words in time")
    }

    /// Reads the answer to its end.
    pub async fn rest(mut self) -> Answer {
        let read = tokio::time::timeout(PATIENCE, self.socket.read_to_end(&mut self.raw));
        drop(read.await.expect("an end in time"));
        parse(&self.raw)
    }

    /// Says that nothing more will be sent, and goes on reading.
    pub async fn half_close(&mut self) {
        self.socket.shutdown().await.expect("an open socket");
    }

    fn text(&self) -> String {
        let end = self.raw.windows(4).position(|it| it == b"\r\n\r\n");
        let body = end.map(|end| unchunked(&self.raw[end + 4..])).unwrap_or_default();
        String::from_utf8_lossy(&body).into_owned()
    }
}
