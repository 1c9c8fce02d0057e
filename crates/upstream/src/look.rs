//! Which events of a stream are worth reading.

use memchr::memmem::Finder;

/// Searches events for the few keys that mean something to us.
///
/// A key inside a JSON string shows with a backslash before its quote and
/// does not match; a hit deeper in an event costs one needless parse. Most
/// upstreams write `"usage":null` and `"finish_reason":null` into every chunk,
/// so a key whose value is null, or an empty string, does not count.
#[derive(Debug)]
pub(crate) struct Look {
    finish: Finder<'static>,
    others: [Finder<'static>; 3],
}

impl Default for Look {
    fn default() -> Self {
        Self {
            finish: Finder::new(br#""finish_reason""#),
            others: [
                Finder::new(br#""usage""#),
                Finder::new(br#""error""#),
                Finder::new(br#""tool_calls""#),
            ],
        }
    }
}

impl Look {
    /// Whether this event gives a reason for the end of the answer.
    pub(crate) fn finishes(&self, json: &[u8]) -> bool {
        tells(&self.finish, json)
    }

    /// Whether this event tells of usage, an error or a call of a tool.
    pub(crate) fn tells(&self, json: &[u8]) -> bool {
        self.others.iter().any(|key| tells(key, json))
    }
}

fn tells(key: &Finder<'_>, json: &[u8]) -> bool {
    key.find_iter(json).any(|at| {
        json.get(at + key.needle().len()..)
            .and_then(|rest| rest.trim_ascii_start().strip_prefix(b":"))
            .map(<[u8]>::trim_ascii_start)
            .is_some_and(|value| !value.starts_with(b"null") && !value.starts_with(br#""""#))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_counts_only_with_a_value() {
        let look = Look::default();

        assert!(look.finishes(br#"{"choices":[{"finish_reason" : "stop"}]}"#));
        assert!(look.finishes(br#"[{"finish_reason":null},{"finish_reason":"stop"}]"#));
        assert!(!look.finishes(br#"{"finish_reason": null}"#));
        assert!(!look.finishes(br#"{"finish_reason":""}"#));
        assert!(look.tells(br#"{"usage":{"prompt_tokens":1}}"#));
        assert!(look.tells(br#"{"delta":{"tool_calls":[{}]}}"#));
        assert!(look.tells(br#"{"error":{"message":"no"}}"#));
        assert!(!look.tells(br#"{"usage":null,"error":null}"#));
    }

    #[test]
    fn a_key_inside_a_text_does_not_count() {
        let look = Look::default();

        assert!(!look.tells(br#"{"content":"say \"usage\": 5 and \"error\": 1"}"#));
        assert!(!look.finishes(br#"{"content":"\"finish_reason\": \"stop\""}"#));
    }
}
