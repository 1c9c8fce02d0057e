//! Filter of the events of a stream that are parsed.
//!
//! `splitter.rs` asks it about every event and forwards the others as they came. The
//! bytes are searched, not parsed, so that an event may be selected in vain.

use memchr::memmem::Finder;

/// Finish reason of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FinishReason {
    None,
    /// Empty text, which clients must not get.
    Empty,
    Present,
}

/// Filter that searches events for the few keys that matter.
///
/// A key inside a JSON string has a backslash before its quote and does not
/// match; a hit deeper in an event costs one needless parse. Most upstreams
/// write `"usage":null` and `"finish_reason":null` into every chunk, so a key
/// whose value is null or an empty string does not count, unless it is an empty finish reason.
#[derive(Debug)]
pub(crate) struct EventFilter {
    finish: Finder<'static>,
    others: [Finder<'static>; 4],
    /// Key that some upstreams send instead of the delta.
    message: Finder<'static>,
    /// Key of each part of a response.
    choices: Finder<'static>,
    /// Key of each choice.
    delta: Finder<'static>,
    /// Key of the first part alone.
    role: Finder<'static>,
    /// Key whose value is parsed if it is an array.
    arrays: Option<Finder<'static>>,
    plain_parts_only: bool,
    everything: bool,
}

impl Default for EventFilter {
    fn default() -> Self {
        Self {
            finish: Finder::new(br#""finish_reason""#),
            others: [
                Finder::new(br#""usage""#),
                Finder::new(br#""error""#),
                Finder::new(br#""tool_calls""#),
                Finder::new(br#""guardrail""#),
            ],
            message: Finder::new(br#""message""#),
            choices: Finder::new(br#""choices""#),
            delta: Finder::new(br#""delta""#),
            role: Finder::new(br#""role""#),
            arrays: None,
            plain_parts_only: false,
            everything: false,
        }
    }
}

impl EventFilter {
    /// Returns a filter that also selects parts with a role, and everything
    /// that is not part of a response.
    pub(crate) fn for_answers() -> Self {
        Self { plain_parts_only: true, ..Self::default() }
    }

    /// Selects contents in several parts, too.
    pub(crate) fn with_arrays(self) -> Self {
        Self { arrays: Some(Finder::new(br#""content""#)), ..self }
    }

    /// Selects every event.
    pub(crate) fn select_all(self) -> Self {
        Self { everything: true, ..self }
    }

    /// Returns the finish reason of this event.
    pub(crate) fn finish_reason(&self, json: &[u8]) -> FinishReason {
        let reasons = values(&self.finish, json).map(|value| {
            if value.starts_with(b"null") {
                FinishReason::None
            } else if value.starts_with(br#""""#) {
                FinishReason::Empty
            } else {
                FinishReason::Present
            }
        });
        reasons.max().unwrap_or(FinishReason::None)
    }

    /// Returns whether this event has usage, an error, a tool call or a
    /// guardrail, has a message instead of a delta, or is selected by an option
    /// of the filter.
    pub(crate) fn selects(&self, json: &[u8]) -> bool {
        if self.everything || (self.plain_parts_only && !self.is_plain_part(json)) {
            return true;
        }

        self.others.iter().any(|key| has_value(key, json))
            || self.lacks_delta(json)
            || self.has_message(json)
            || self.has_array(json)
    }

    fn has_message(&self, json: &[u8]) -> bool {
        values(&self.message, json).any(|it| it.starts_with(b"{"))
    }

    fn has_array(&self, json: &[u8]) -> bool {
        self.arrays.iter().any(|key| values(key, json).any(|it| it.starts_with(b"[")))
    }

    fn is_plain_part(&self, json: &[u8]) -> bool {
        self.has_choice(json) && !has_value(&self.role, json)
    }

    fn lacks_delta(&self, json: &[u8]) -> bool {
        !values(&self.delta, json).any(|it| it.starts_with(b"{")) && self.has_choice(json)
    }

    fn has_choice(&self, json: &[u8]) -> bool {
        let is_choice = |value: &[u8]| {
            value.strip_prefix(b"[").is_some_and(|it| it.trim_ascii_start().starts_with(b"{"))
        };
        values(&self.choices, json).any(is_choice)
    }
}

fn has_value(key: &Finder<'_>, json: &[u8]) -> bool {
    values(key, json).any(|it| !it.starts_with(b"null") && !it.starts_with(br#""""#))
}

/// Returns the text after each occurrence of a key with a value.
fn values<'a>(key: &Finder<'_>, json: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let length = key.needle().len();
    key.find_iter(json).filter_map(move |at| {
        let after_key = json.get(at + length..)?.trim_ascii_start();
        Some(after_key.strip_prefix(b":")?.trim_ascii_start())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_counts_only_with_a_value() {
        let filter = EventFilter::default();

        for (json, finish_reason) in [
            (&br#"{"choices":[{"finish_reason" : "stop"}]}"#[..], FinishReason::Present),
            (&br#"[{"finish_reason":null},{"finish_reason":"stop"}]"#[..], FinishReason::Present),
            (&br#"{"finish_reason": null}"#[..], FinishReason::None),
            (&br#"{"finish_reason":""}"#[..], FinishReason::Empty),
        ] {
            assert_eq!(filter.finish_reason(json), finish_reason, "{}", json.escape_ascii());
        }
        assert!(filter.selects(br#"{"usage":{"prompt_tokens":1}}"#));
        assert!(filter.selects(br#"{"delta":{"tool_calls":[{}]}}"#));
        assert!(filter.selects(br#"{"error":{"message":"no"}}"#));
        assert!(filter.selects(br#"{"guardrail":{"protected":true}}"#));
        assert!(filter.selects(br#"{"choices":[{"message": {"content":"x"}}]}"#));
        assert!(filter.selects(br#"{"choices":[{"index":0,"content_filter_offsets":{}}]}"#));
        assert!(!filter.selects(br#"{"choices":[{"index":0,"delta":{"content":"x"}}]}"#));
        assert!(!filter.selects(br#"{"usage":null,"error":null,"message":"x"}"#));
    }

    #[test]
    fn arrays_and_all_events_are_selected_on_request() {
        let parts = br#"{"delta":{"content": [{"type":"text"}]}}"#;
        let text = br#"{"delta":{"content":"[x]"}}"#;

        assert!(!EventFilter::default().selects(parts));
        assert!(EventFilter::default().with_arrays().selects(parts));
        assert!(!EventFilter::default().with_arrays().selects(text));
        assert!(EventFilter::default().select_all().selects(text));
    }

    #[test]
    fn events_that_are_not_part_of_a_response_are_selected() {
        let filter = EventFilter::for_answers();

        for json in [
            &br#"{"object":"error","message":"sk-1"}"#[..],
            br#"{"detail":"x \"choices\":[{"}"#,
            br#"{"choices":[],"prompt_filter_results":[]}"#,
            br#"{"choices":null}"#,
            br#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#,
        ] {
            assert!(filter.selects(json), "{}", json.escape_ascii());
        }
        assert!(!filter.selects(br#"{"id":"c","choices": [ {"delta":{"content":"x"}}]}"#));
        assert!(!filter.selects(br#"{"choices":[{"delta":{"role":null,"content":"x"}}]}"#));
    }

    #[test]
    fn a_key_inside_a_text_does_not_count() {
        let filter = EventFilter::default();

        assert!(!filter.selects(br#"{"content":"say \"usage\": 5 and \"error\": 1"}"#));
        let text = br#"{"content":"\"finish_reason\": \"stop\""}"#;
        assert_eq!(filter.finish_reason(text), FinishReason::None);
    }
}
