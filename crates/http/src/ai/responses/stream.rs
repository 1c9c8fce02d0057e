//! Streamed responses, event by event.
//!
//! `Events::translate` takes the bytes of a chat completion's stream in any division
//! and returns the events that they complete. The order of events is fixed:
//! `response.created`, then each item with its deltas, and after `[DONE]` the end of
//! every item and `response.completed` or `response.incomplete`. An error ends the
//! response at once, with `response.failed`.

use bytes::{Bytes, BytesMut};
use serde_json::{Value, json};

use super::answer::{Response, function_call_item, message_item, new_id};
use super::members::{pointer_or_null, text, with};

/// Translates the chunks of a chat completion into the events of a response.
pub(super) struct Events {
    response: Response,
    /// Received bytes of an event that is still incomplete.
    incomplete: BytesMut,
    /// Events that are not returned yet.
    written: BytesMut,
    /// Sequence number of the next event.
    next_number: u64,
    items: Vec<Item>,
    usage: Option<Value>,
    /// Reason for the end of the completion; empty until it is known.
    finish_reason: String,
    phase: Phase,
}

#[derive(PartialEq, Eq)]
enum Phase {
    NotStarted,
    Answering,
    Over,
}

/// Item of the output that is being received.
struct Item {
    id: String,
    kind: OutputItemKind,
    /// Content so far: the text, or the arguments.
    text: String,
}

enum OutputItemKind {
    Message,
    Call { index: u64, call_id: String, name: String },
}

impl Events {
    pub(super) fn new(response: Response) -> Self {
        Self {
            response,
            incomplete: BytesMut::new(),
            written: BytesMut::new(),
            next_number: 0,
            items: Vec::new(),
            usage: None,
            finish_reason: String::new(),
            phase: Phase::NotStarted,
        }
    }

    /// Returns the events for received bytes.
    pub(super) fn translate(&mut self, bytes: &[u8]) -> Bytes {
        self.incomplete.extend_from_slice(bytes);
        while let Some(end) = self.incomplete.windows(2).position(|it| it == b"\n\n") {
            let event = self.incomplete.split_to(end + 2);
            match event.strip_prefix(b"data: ").map(<[u8]>::trim_ascii) {
                Some(b"[DONE]") => self.end(),
                Some(data) => self.add_chunk(&serde_json::from_slice(data).unwrap_or_default()),
                None => self.written.extend_from_slice(&event),
            }
        }
        self.written.split().freeze()
    }

    fn add_chunk(&mut self, chunk: &Value) {
        self.begin();
        let error = pointer_or_null(chunk, "/error");
        if !error.is_null() {
            return self.fail(error);
        }

        if let Some(usage) = chunk.get("usage").filter(|it| it.is_object()) {
            self.usage = Some(usage.clone());
        }

        let choice = pointer_or_null(chunk, "/choices/0");
        let content = text(choice, "/delta/content");
        if !content.is_empty() {
            self.add_text(content);
        }

        for call in pointer_or_null(choice, "/delta/tool_calls").as_array().into_iter().flatten() {
            self.add_call(call);
        }

        if let Some(reason) = pointer_or_null(choice, "/finish_reason").as_str() {
            reason.clone_into(&mut self.finish_reason);
        }
    }

    fn begin(&mut self) {
        if self.phase != Phase::NotStarted {
            return;
        }
        self.phase = Phase::Answering;
        for event in ["response.created", "response.in_progress"] {
            let response = self.response.object("in_progress", &[], None);
            self.write(event, json!({ "response": response }));
        }
    }

    fn add_text(&mut self, text: &str) {
        let index = self.message_index().unwrap_or_else(|| self.add_message());
        if let Some(item) = self.items.get_mut(index) {
            item.text.push_str(text);
        }

        let delta = json!({ "content_index": 0, "delta": text, "logprobs": [] });
        self.write_item_event(index, "response.output_text.delta", delta);
    }

    /// Returns the index of the message, which holds the text of all chunks.
    fn message_index(&self) -> Option<usize> {
        self.items.iter().position(|it| matches!(it.kind, OutputItemKind::Message))
    }

    /// Adds an empty message. Returns its index.
    fn add_message(&mut self) -> usize {
        let index = self.add_item("msg", OutputItemKind::Message);
        let part = json!({ "type": "output_text", "text": "", "annotations": [] });
        let added = json!({ "content_index": 0, "part": part });
        self.write_item_event(index, "response.content_part.added", added);
        index
    }

    /// Adds a part of a call: the first one has its name, the next ones its arguments.
    fn add_call(&mut self, delta: &Value) {
        let index = pointer_or_null(delta, "/index").as_u64().unwrap_or(0);
        let is_same_call =
            |it: &Item| matches!(it.kind, OutputItemKind::Call { index: at, .. } if at == index);
        let position = self.items.iter().position(is_same_call).unwrap_or_else(|| {
            let call_id = text(delta, "/id").to_owned();
            let name = text(delta, "/function/name").to_owned();
            self.add_item("fc", OutputItemKind::Call { index, call_id, name })
        });

        let arguments = text(delta, "/function/arguments");
        if arguments.is_empty() {
            return;
        }

        if let Some(item) = self.items.get_mut(position) {
            item.text.push_str(arguments);
        }

        self.write_item_event(
            position,
            "response.function_call_arguments.delta",
            json!({ "delta": arguments }),
        );
    }

    /// Adds an item to the output, with an id of this kind. Returns its index.
    fn add_item(&mut self, id_kind: &str, kind: OutputItemKind) -> usize {
        let index = self.items.len();
        let item = Item { id: new_id(id_kind), kind, text: String::new() };
        let mut in_progress = with(item.to_json(""), "status", json!("in_progress"));
        if matches!(item.kind, OutputItemKind::Message) {
            in_progress = with(in_progress, "content", json!([]));
        }

        self.items.push(item);

        self.write(
            "response.output_item.added",
            json!({ "output_index": index, "item": in_progress }),
        );

        index
    }

    fn end(&mut self) {
        if self.phase == Phase::Over {
            return;
        }

        self.begin();
        self.phase = Phase::Over;

        for index in 0..self.items.len() {
            self.end_item(index);
        }

        let output = self.items_json();
        let response =
            self.response.final_object(&self.finish_reason, &output, self.usage.as_ref());
        let event = if pointer_or_null(&response, "/status") == "incomplete" {
            "response.incomplete"
        } else {
            "response.completed"
        };
        self.write(event, json!({ "response": response }));
    }

    fn items_json(&self) -> Vec<Value> {
        self.items.iter().map(|it| it.to_json(&self.finish_reason)).collect()
    }

    fn end_item(&mut self, index: usize) {
        let Some(item) = self.items.get(index) else { return };

        let item_json = item.to_json(&self.finish_reason);
        let text = item.text.clone();

        if matches!(item.kind, OutputItemKind::Message) {
            let part = pointer_or_null(&item_json, "/content/0").clone();
            let text_done = json!({ "content_index": 0, "text": text, "logprobs": [] });
            self.write_item_event(index, "response.output_text.done", text_done);
            let part_done = json!({ "content_index": 0, "part": part });
            self.write_item_event(index, "response.content_part.done", part_done);
        } else {
            let arguments_done =
                json!({ "name": pointer_or_null(&item_json, "/name"), "arguments": text });
            self.write_item_event(index, "response.function_call_arguments.done", arguments_done);
        }

        self.write(
            "response.output_item.done",
            json!({ "output_index": index, "item": item_json }),
        );
    }

    fn fail(&mut self, error: &Value) {
        self.phase = Phase::Over;
        let output = self.items_json();
        let response = self.response.object("failed", &output, self.usage.as_ref());
        let code = pointer_or_null(error, "/code");
        let message = pointer_or_null(error, "/message");
        let error = json!({ "code": code, "message": message });
        self.write("response.failed", json!({ "response": with(response, "error", error) }));
    }

    /// Writes an event of an item, whose id and index the event contains.
    fn write_item_event(&mut self, index: usize, event: &str, mut data: Value) {
        if let Some(item) = self.items.get(index) {
            data = with(data, "item_id", json!(item.id));
            data = with(data, "output_index", json!(index));
        }
        self.write(event, data);
    }

    fn write(&mut self, event: &str, mut data: Value) {
        data = with(data, "type", json!(event));
        data = with(data, "sequence_number", json!(self.next_number));
        self.next_number += 1;
        let frame = format!("event: {event}\ndata: {data}\n\n");
        self.written.extend_from_slice(frame.as_bytes());
    }
}

impl Item {
    fn to_json(&self, finish_reason: &str) -> Value {
        match &self.kind {
            OutputItemKind::Message => message_item(&self.id, &self.text, finish_reason),
            OutputItemKind::Call { call_id, name, .. } => {
                function_call_item(&self.id, call_id, name, &self.text)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::super::answer::Echo;
    use super::*;

    /// Returns the types of the events for these chunks, and the data of the
    /// last one.
    fn events(chunks: &[Value]) -> (Vec<String>, Value) {
        let mut translator = Events::new(Response::new(Echo::from_request(Map::new())));
        let frames: Vec<_> = chunks.iter().map(|it| format!("data: {it}\n\n")).collect();
        let mut bytes = Vec::new();
        // Frames are split at arbitrary positions.
        for chunk in format!("{}data: [DONE]\n\n", frames.concat()).as_bytes().chunks(7) {
            bytes.extend_from_slice(&translator.translate(chunk));
        }

        let text = String::from_utf8(bytes).unwrap();
        let data: Vec<Value> = text
            .lines()
            .filter_map(|it| it.strip_prefix("data: "))
            .map(|it| serde_json::from_str(it).unwrap())
            .collect();
        for (number, event) in data.iter().enumerate() {
            assert_eq!(event["sequence_number"], number);
        }

        let types = data.iter().map(|it| it["type"].as_str().unwrap().to_owned()).collect();
        (types, data.last().unwrap().clone())
    }

    fn delta(delta: &Value) -> Value {
        json!({ "choices": [{ "delta": delta }] })
    }

    #[test]
    fn a_text_is_sent_in_deltas_and_in_full_at_the_end() {
        let (types, last) = events(&[
            delta(&json!({ "role": "assistant", "content": "" })),
            delta(&json!({ "content": "Good " })),
            delta(&json!({ "content": "day" })),
            json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }),
            json!({ "choices": [], "usage": { "prompt_tokens": 1, "completion_tokens": 2 } }),
        ]);

        assert_eq!(
            types,
            [
                "response.created",
                "response.in_progress",
                "response.output_item.added",
                "response.content_part.added",
                "response.output_text.delta",
                "response.output_text.delta",
                "response.output_text.done",
                "response.content_part.done",
                "response.output_item.done",
                "response.completed",
            ]
        );
        assert_eq!(last["response"]["output"][0]["content"][0]["text"], "Good day");
        assert_eq!(last["response"]["usage"]["output_tokens"], 2);
    }

    #[test]
    fn calls_are_distinguished_by_their_index() {
        let (types, last) = events(&[
            delta(&json!({ "tool_calls": [
                { "index": 0, "id": "a", "function": { "name": "look", "arguments": "" } },
                { "index": 1, "id": "b", "function": { "name": "see", "arguments": "{" } },
            ] })),
            delta(&json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "{}" } }] })),
            delta(&json!({ "tool_calls": [{ "index": 1, "function": { "arguments": "}" } }] })),
        ]);

        let deltas = types.iter().filter(|it| it.ends_with("arguments.delta")).count();
        assert_eq!(deltas, 3);
        let calls = last["response"]["output"].as_array().unwrap();
        let actual: Vec<_> = calls.iter().map(|it| (&it["call_id"], &it["arguments"])).collect();
        assert_eq!(actual, [(&json!("a"), &json!("{}")), (&json!("b"), &json!("{}"))]);
    }

    #[test]
    fn a_failure_ends_the_response_with_the_servers_message() {
        let error = json!({ "message": "used up", "code": "insufficient_quota" });
        let (types, last) =
            events(&[delta(&json!({ "content": "Hi" })), json!({ "error": error })]);

        assert_eq!(types.last().unwrap(), "response.failed");
        assert_eq!(last["response"]["status"], "failed");
        assert_eq!(last["response"]["error"]["message"], "used up");
    }

    #[test]
    fn a_truncated_response_ends_as_incomplete() {
        let cut =
            json!({ "choices": [{ "delta": { "content": "Hi" }, "finish_reason": "length" }] });

        let (types, last) = events(&[cut]);

        assert_eq!(types.last().unwrap(), "response.incomplete");
        assert_eq!(last["response"]["incomplete_details"]["reason"], "max_output_tokens");
        assert_eq!(last["response"]["output"][0]["status"], "incomplete");
    }
}
