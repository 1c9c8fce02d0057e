//! Answers whose citations stand beside the text, in `annotations`.
//!
//! Models mostly link what they cite in the text, too. What they do not link
//! there is listed at the end.

use bytes::Bytes;
use serde_json::{Value, json};

use super::links::Links;
use super::reply::{Translate, TranslatedFrames, text_of};

/// More of a text is not kept to look for links in it.
const MAX_TEXT_BYTES: usize = 1024 * 1024;

/// A stream of such an answer.
#[derive(Debug, Default)]
pub(super) struct CitationTranslator {
    text: String,
    links: Links,
    /// Members of chunks, for our own.
    head: Option<Value>,
    finished: bool,
}

impl CitationTranslator {
    /// Adds the members of an event to the state, and returns what it is.
    pub(super) fn apply(&mut self, event: &mut Value) -> EventRelevance {
        let telling = ["usage", "error"].iter().any(|it| event.get(it).is_some_and(states));
        let mut worth = EventRelevance { telling, ..EventRelevance::default() };
        self.head.get_or_insert_with(|| head(event));
        let choices = event.get_mut("choices").and_then(Value::as_array_mut);
        for choice in choices.into_iter().flatten() {
            worth.ends |= choice.get("finish_reason").is_some_and(states);
            if let Some(delta) = choice.get_mut("delta").and_then(Value::as_object_mut) {
                worth.telling |= delta.get("tool_calls").is_some_and(states);
                if let Some(cited) = delta.remove("annotations") {
                    worth.changed = true;
                    add(&mut self.links, &cited);
                }
                let text = delta.get("content").map(text_of).unwrap_or_default();
                if self.text.len() + text.len() <= MAX_TEXT_BYTES {
                    self.text.push_str(&text);
                }
            }
        }
        worth
    }

    /// The places that the text does not link, as a chunk of their own.
    pub(super) fn push_missing_links(&mut self, message: &mut TranslatedFrames) {
        let list = self.links.missing_in(&self.text);
        if list.is_empty() {
            return;
        }
        let mut chunk = self.head.clone().unwrap_or_else(|| json!({}));
        if let Some(members) = chunk.as_object_mut() {
            let choices = json!([{ "index": 0, "delta": { "content": list } }]);
            members.insert("choices".to_owned(), choices);
        }
        message.plain(chunk.to_string().as_bytes());
        self.text.push_str(&list);
    }
}

/// Relevance of an event.
#[derive(Debug, Default)]
pub(super) struct EventRelevance {
    /// True if it has a finish reason.
    pub(super) ends: bool,
    /// True if it has content for the caller.
    pub(super) telling: bool,
    /// Something was taken out of it.
    pub(super) changed: bool,
}

impl Translate for CitationTranslator {
    fn event(&mut self, json: &Bytes, _first: bool, message: &mut TranslatedFrames) {
        let Ok(mut event) = serde_json::from_slice::<Value>(json) else {
            return message.push_unchanged(json);
        };
        let worth = self.apply(&mut event);
        if worth.ends || self.finished {
            self.finished = true;
            self.push_missing_links(message);
        }
        let json = if worth.changed { Bytes::from(event.to_string()) } else { json.clone() };
        if worth.ends || worth.telling {
            message.push_unchanged(&json);
        } else {
            message.plain(&json);
        }
    }

    fn done(&mut self, message: &mut TranslatedFrames) {
        self.push_missing_links(message);
        message.frames.push_back(pia_assistant::Frame::Done);
    }
}

/// Returns the answer with links to all that it cites.
pub(super) fn link_citations(answer: Bytes) -> Bytes {
    let Ok(mut read) = serde_json::from_slice::<Value>(&answer) else { return answer };
    let choices = read.get_mut("choices").and_then(Value::as_array_mut);
    let mut changed = false;
    for choice in choices.into_iter().flatten() {
        if let Some(message) = choice.get_mut("message").and_then(Value::as_object_mut)
            && let Some(cited) = message.remove("annotations")
        {
            let mut links = Links::default();
            add(&mut links, &cited);
            let text = message.get("content").map(text_of).unwrap_or_default();
            let list = links.missing_in(&text);
            message.insert("content".to_owned(), Value::from(format!("{text}{list}")));
            changed = true;
        }
    }
    if changed { Bytes::from(read.to_string()) } else { answer }
}

fn add(links: &mut Links, annotations: &Value) {
    for annotation in annotations.as_array().into_iter().flatten() {
        let place = annotation.get("url_citation").unwrap_or(annotation);
        if let Some(url) = place.get("url").and_then(Value::as_str) {
            links.add(url, place.get("title").and_then(Value::as_str));
        }
    }
}

/// Returns whether a value is more than an empty one.
fn states(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

fn head(event: &Value) -> Value {
    let members = event.as_object().into_iter().flatten();
    let stored = ["id", "object", "created", "model"];
    members
        .filter(|(key, _)| stored.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
