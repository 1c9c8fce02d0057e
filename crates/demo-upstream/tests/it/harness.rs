//! Client of a demo upstream.

use std::io::Read;

use pia_demo_upstream::Demo;
use serde_json::{Value, json};
use ureq::Agent;

/// Response received, up to its end or until the connection broke.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<String>,
    pub(crate) text: String,
    pub(crate) complete: bool,
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).expect("JSON")
    }

    /// Returns the data of a stream's events, without `[DONE]`.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.text
            .lines()
            .filter_map(|it| it.strip_prefix("data: "))
            .filter(|it| *it != "[DONE]")
            .map(|it| serde_json::from_str(it).expect("an event of JSON"))
            .collect()
    }

    /// Returns the text of a streamed response, concatenated.
    pub(crate) fn streamed_text(&self) -> String {
        let events = self.events();
        events.iter().filter_map(|it| it["choices"][0]["delta"]["content"].as_str()).collect()
    }
}

pub(crate) fn send(demo: &Demo, body: &Value) -> Response {
    let agent: Agent = Agent::config_builder().http_status_as_error(false).build().into();
    let mut response = agent
        .post(format!("{}/chat/completions", demo.endpoint()))
        .content_type("application/json")
        .header("authorization", "Bearer secret")
        .send(body.to_string())
        .expect("an answer");
    let retry_after =
        response.headers().get("retry-after").and_then(|it| it.to_str().ok()).map(str::to_owned);
    let mut bytes = Vec::new();
    let complete = response.body_mut().as_reader().read_to_end(&mut bytes).is_ok();
    let text = String::from_utf8(bytes).expect("UTF-8");
    Response { status: response.status().as_u16(), retry_after, text, complete }
}

pub(crate) fn request(text: &str) -> Value {
    json!({ "model": "m", "messages": [{ "role": "user", "content": text }] })
}

pub(crate) fn stream_request(text: &str) -> Value {
    let mut body = request(text);
    body["stream"] = json!(true);
    body["stream_options"] = json!({ "include_usage": true });
    body
}
