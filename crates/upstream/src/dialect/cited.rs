//! Responses whose citations are beside the text, in `annotations`.
//!
//! Models mostly link their citations in the text, too. Those that they do not
//! link are listed at the end: in a stream in a chunk of its own, before the event
//! with the finish reason. `openrouter.rs` uses the translation for its searches.

use bytes::Bytes;
use serde_json::{Value, json};

use super::links::Links;
use super::reply::{Translate, TranslatedFrames, text_of};

/// Maximum length of the text that is searched for links. Beyond it a source may
/// be listed although the text links it.
const MAX_TEXT_BYTES: usize = 1024 * 1024;

/// Translation of a stream with citations.
#[derive(Debug, Default)]
pub(super) struct CitationTranslator {
    text: String,
    links: Links,
    /// Common members of the chunks, for those that are added.
    head: Option<Value>,
    finished: bool,
}

impl CitationTranslator {
    /// Records the text and citations of an event and returns its relevance.
    pub(super) fn apply(&mut self, event: &mut Value) -> EventRelevance {
        let is_significant =
            ["usage", "error"].iter().any(|it| event.get(it).is_some_and(is_present));
        let mut relevance = EventRelevance { is_significant, ..EventRelevance::default() };
        self.head.get_or_insert_with(|| head(event));
        let choices = event.get_mut("choices").and_then(Value::as_array_mut);
        for choice in choices.into_iter().flatten() {
            relevance.ends |= choice.get("finish_reason").is_some_and(is_present);

            if let Some(delta) = choice.get_mut("delta").and_then(Value::as_object_mut) {
                relevance.is_significant |= delta.get("tool_calls").is_some_and(is_present);
                if let Some(annotations) = delta.remove("annotations") {
                    relevance.changed = true;
                    add_links(&mut self.links, &annotations);
                }
                let text = delta.get("content").map(text_of).unwrap_or_default();
                if self.text.len() + text.len() <= MAX_TEXT_BYTES {
                    self.text.push_str(&text);
                }
            }
        }

        relevance
    }

    /// Pushes a chunk with the sources that the text does not link.
    pub(super) fn push_missing_links(&mut self, output: &mut TranslatedFrames) {
        let list = self.links.missing_in(&self.text);
        if list.is_empty() {
            return;
        }
        let mut chunk = self.head.clone().unwrap_or_else(|| json!({}));
        if let Some(members) = chunk.as_object_mut() {
            let choices = json!([{ "index": 0, "delta": { "content": list } }]);
            members.insert("choices".to_owned(), choices);
        }
        output.push_forwarded(chunk.to_string().as_bytes());
        self.text.push_str(&list);
    }
}

/// Relevance of an event.
#[derive(Debug, Default)]
pub(super) struct EventRelevance {
    /// Set if it has a finish reason.
    pub(super) ends: bool,
    /// Set if it has usage, an error or tool calls.
    pub(super) is_significant: bool,
    /// Set if citations were removed from it.
    pub(super) changed: bool,
}

impl Translate for CitationTranslator {
    fn event(&mut self, json: &Bytes, _first: bool, output: &mut TranslatedFrames) {
        let Ok(mut event) = serde_json::from_slice::<Value>(json) else {
            return output.push_upstream_event(json);
        };

        let relevance = self.apply(&mut event);
        // Citations that arrive after the finish reason are listed at once.
        if relevance.ends || self.finished {
            self.finished = true;
            self.push_missing_links(output);
        }

        let json = if relevance.changed { Bytes::from(event.to_string()) } else { json.clone() };

        if relevance.ends || relevance.is_significant {
            output.push_upstream_event(&json);
        } else {
            output.push_forwarded(&json);
        }
    }

    fn done(&mut self, output: &mut TranslatedFrames) {
        self.push_missing_links(output);
        output.frames.push_back(pia_assistant::Frame::Done);
    }
}

/// Returns the response with links to all its citations.
pub(super) fn link_citations(answer: Bytes) -> Bytes {
    let Ok(mut parsed) = serde_json::from_slice::<Value>(&answer) else { return answer };

    let choices = parsed.get_mut("choices").and_then(Value::as_array_mut);
    let mut is_changed = false;
    for choice in choices.into_iter().flatten() {
        if let Some(message) = choice.get_mut("message").and_then(Value::as_object_mut)
            && let Some(annotations) = message.remove("annotations")
        {
            let mut links = Links::default();
            add_links(&mut links, &annotations);
            let text = message.get("content").map(text_of).unwrap_or_default();
            let list = links.missing_in(&text);
            message.insert("content".to_owned(), Value::from(format!("{text}{list}")));
            is_changed = true;
        }
    }

    if is_changed { Bytes::from(parsed.to_string()) } else { answer }
}

fn add_links(links: &mut Links, annotations: &Value) {
    for annotation in annotations.as_array().into_iter().flatten() {
        let source = annotation.get("url_citation").unwrap_or(annotation);
        if let Some(url) = source.get("url").and_then(Value::as_str) {
            links.add(url, source.get("title").and_then(Value::as_str));
        }
    }
}

/// Returns whether a value is neither null nor empty.
fn is_present(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

/// Returns the members that all chunks of a stream share.
fn head(event: &Value) -> Value {
    let shared_keys = ["id", "object", "created", "model"];
    event
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| shared_keys.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
