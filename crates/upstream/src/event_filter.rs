//! Filter of the events of a stream that are worth reading.

use memchr::memmem::Finder;

/// Searches events for the few keys that mean something to us.
///
/// A key inside a JSON string shows with a backslash before its quote and
/// does not match; a hit deeper in an event costs one needless parse. Most
/// upstreams write `"usage":null` and `"finish_reason":null` into every chunk,
/// so a key whose value is null, or an empty string, does not count.
#[derive(Debug)]
pub(crate) struct EventFilter {
    finish: Finder<'static>,
    others: [Finder<'static>; 4],
    /// Key of some upstreams in the place of the delta.
    message: Finder<'static>,
    /// Key of each part of an answer.
    choices: Finder<'static>,
    /// Key of each choice.
    delta: Finder<'static>,
    /// Key of the first part alone.
    role: Finder<'static>,
    /// Key whose value says more where it is an array.
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
    /// Looks at whatever is no part of an answer, too, and at parts that say
    /// whose words they are.
    pub(crate) fn of_answers() -> Self {
        Self { plain_parts_only: true, ..Self::default() }
    }

    /// Looks at contents in several parts, too.
    pub(crate) fn at_arrays(self) -> Self {
        Self { arrays: Some(Finder::new(br#""content""#)), ..self }
    }

    /// Looks at every event.
    pub(crate) fn at_everything(self) -> Self {
        Self { everything: true, ..self }
    }

    /// Returns whether this event gives a reason for the end of the answer.
    pub(crate) fn finishes(&self, json: &[u8]) -> bool {
        has_value(&self.finish, json)
    }

    /// Returns whether this event reports usage, an error, a call of a tool or
    /// a guardrail, has a message in the place of a delta, or reports what
    /// else is looked at.
    pub(crate) fn selects(&self, json: &[u8]) -> bool {
        self.everything
            || (self.plain_parts_only && !self.is_plain_part(json))
            || self.others.iter().any(|key| has_value(key, json))
            || self.lacks_delta(json)
            || values(&self.message, json).any(|it| it.starts_with(b"{"))
            || self.arrays.iter().any(|key| values(key, json).any(|it| it.starts_with(b"[")))
    }

    fn is_plain_part(&self, json: &[u8]) -> bool {
        self.chooses(json) && !has_value(&self.role, json)
    }

    fn lacks_delta(&self, json: &[u8]) -> bool {
        !values(&self.delta, json).any(|it| it.starts_with(b"{")) && self.chooses(json)
    }

    fn chooses(&self, json: &[u8]) -> bool {
        let chosen = |it: &[u8]| {
            it.strip_prefix(b"[").is_some_and(|it| it.trim_ascii_start().starts_with(b"{"))
        };
        values(&self.choices, json).any(chosen)
    }
}

fn has_value(key: &Finder<'_>, json: &[u8]) -> bool {
    values(key, json).any(|it| !it.starts_with(b"null") && !it.starts_with(br#""""#))
}

/// Returns the text after each occurrence of a key with a value.
fn values<'a>(key: &Finder<'_>, json: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let length = key.needle().len();
    key.find_iter(json).filter_map(move |at| {
        let rest = json.get(at + length..)?.trim_ascii_start();
        Some(rest.strip_prefix(b":")?.trim_ascii_start())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_counts_only_with_a_value() {
        let look = EventFilter::default();

        assert!(look.finishes(br#"{"choices":[{"finish_reason" : "stop"}]}"#));
        assert!(look.finishes(br#"[{"finish_reason":null},{"finish_reason":"stop"}]"#));
        assert!(!look.finishes(br#"{"finish_reason": null}"#));
        assert!(!look.finishes(br#"{"finish_reason":""}"#));
        assert!(look.selects(br#"{"usage":{"prompt_tokens":1}}"#));
        assert!(look.selects(br#"{"delta":{"tool_calls":[{}]}}"#));
        assert!(look.selects(br#"{"error":{"message":"no"}}"#));
        assert!(look.selects(br#"{"guardrail":{"protected":true}}"#));
        assert!(look.selects(br#"{"choices":[{"message": {"content":"x"}}]}"#));
        assert!(look.selects(br#"{"choices":[{"index":0,"content_filter_offsets":{}}]}"#));
        assert!(!look.selects(br#"{"choices":[{"index":0,"delta":{"content":"x"}}]}"#));
        assert!(!look.selects(br#"{"usage":null,"error":null,"message":"x"}"#));
    }

    #[test]
    fn more_is_looked_at_where_it_is_called_for() {
        let parts = br#"{"delta":{"content": [{"type":"text"}]}}"#;
        let text = br#"{"delta":{"content":"[x]"}}"#;

        assert!(!EventFilter::default().selects(parts));
        assert!(EventFilter::default().at_arrays().selects(parts));
        assert!(!EventFilter::default().at_arrays().selects(text));
        assert!(EventFilter::default().at_everything().selects(text));
    }

    #[test]
    fn what_is_no_part_of_an_answer_is_looked_at() {
        let look = EventFilter::of_answers();

        for json in [
            &br#"{"object":"error","message":"sk-1"}"#[..],
            br#"{"detail":"x \"choices\":[{"}"#,
            br#"{"choices":[],"prompt_filter_results":[]}"#,
            br#"{"choices":null}"#,
            br#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#,
        ] {
            assert!(look.selects(json), "{}", json.escape_ascii());
        }
        assert!(!look.selects(br#"{"id":"c","choices": [ {"delta":{"content":"x"}}]}"#));
        assert!(!look.selects(br#"{"choices":[{"delta":{"role":null,"content":"x"}}]}"#));
    }

    #[test]
    fn a_key_inside_a_text_does_not_count() {
        let look = EventFilter::default();

        assert!(!look.selects(br#"{"content":"say \"usage\": 5 and \"error\": 1"}"#));
        assert!(!look.finishes(br#"{"content":"\"finish_reason\": \"stop\""}"#));
    }
}
