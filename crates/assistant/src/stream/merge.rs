//! Merging of several calls, or of redundant events, into one response.
//!
//! Callers expect one id and model, and one role for each choice, although a turn may take
//! several calls, possibly of several models.

use bytes::Bytes;
use memchr::memmem;
use pia_json::Members;

use crate::stream::chunk_head::ChunkHead;
use crate::stream::sse::to_frames;

/// Maximum number of choices whose roles are filtered, as many as OpenAI's API returns.
const MAX_CHOICES: usize = 128;

/// Choices whose role was sent, by index.
///
/// Clients concatenate the deltas of a choice, and would read
/// `assistantassistant`.
#[derive(Debug, Default)]
pub(crate) struct RoleFilter(Vec<u64>);

impl RoleFilter {
    /// Removes roles that were sent before, or returns `None` if there are
    /// none.
    pub(crate) fn without_repeated_roles(&mut self, json: &[u8]) -> Option<Bytes> {
        memmem::find(json, br#""role""#)?;
        let mut chunk: Members<'_> = serde_json::from_slice(json).ok()?;
        let json = chunk.get("choices")?.to_owned();
        let mut choices: Vec<Members<'_>> = serde_json::from_str(&json).ok()?;
        let mut has_repeated = false;
        for choice in &mut choices {
            has_repeated |= self.remove_repeated_role(choice);
        }
        if !has_repeated {
            return None;
        }

        let choices_json: Vec<String> = choices.iter().map(Members::to_json).collect();
        chunk.set("choices", format!("[{}]", choices_json.join(",")));
        Some(Bytes::from(chunk.to_json()))
    }

    fn remove_repeated_role(&mut self, choice: &mut Members<'_>) -> bool {
        let Some(json) = choice.get("delta").map(str::to_owned) else { return false };
        let Ok(mut delta) = serde_json::from_str::<Members<'_>>(&json) else { return false };
        if delta.get("role").is_none() {
            return false;
        }

        let index = choice.get("index").and_then(|it| it.parse().ok()).unwrap_or_default();
        if !self.0.contains(&index) {
            if self.0.len() < MAX_CHOICES {
                self.0.push(index);
            }
            return false;
        }

        delta.remove("role");
        choice.set("delta", delta.to_json());
        true
    }
}

/// Replaces the heads of the events of a later call by that of the first.
pub(crate) fn rewrite_heads(events: &[u8], head: &ChunkHead) -> Bytes {
    let rewritten: Vec<Vec<u8>> = events
        .split(|it| *it == b'\n')
        .filter_map(|it| it.strip_prefix(b"data: "))
        .map(|it| head.apply_to(it).map_or_else(|| it.to_vec(), String::into_bytes))
        .collect();
    to_frames(&rewritten)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_sent_once_for_each_choice() {
        let mut roles = RoleFilter::default();
        let event = |index| {
            format!(
                r#"{{"id":"c","choices":[{{"index":{index},"delta":{{"role":"assistant","content":"x"}}}}]}}"#
            )
        };

        assert_eq!(roles.without_repeated_roles(event(0).as_bytes()), None);
        assert_eq!(roles.without_repeated_roles(event(1).as_bytes()), None);
        assert_eq!(
            roles.without_repeated_roles(event(0).as_bytes()).unwrap(),
            r#"{"id":"c","choices":[{"index":0,"delta":{"content":"x"}}]}"#
        );
        assert_eq!(
            roles.without_repeated_roles(br#"{"choices":[{"delta":{"content":"\"role\""}}]}"#),
            None
        );
        assert_eq!(roles.without_repeated_roles(br#"{"role":1}"#), None);
    }

    #[test]
    fn roles_of_choices_beyond_the_limit_are_passed_on() {
        let mut roles = RoleFilter::default();
        let event = |index: usize| {
            format!(r#"{{"choices":[{{"index":{index},"delta":{{"role":"assistant"}}}}]}}"#)
        };

        for index in (0..=MAX_CHOICES).chain([MAX_CHOICES]) {
            assert_eq!(roles.without_repeated_roles(event(index).as_bytes()), None, "{index}");
        }
        assert!(roles.without_repeated_roles(event(MAX_CHOICES - 1).as_bytes()).is_some());
    }

    #[test]
    fn events_of_a_later_call_have_the_first_head() {
        let head = ChunkHead::new("first", 7, "m");
        let events = concat!(
            "data: {\"id\":\"second\",\"model\":\"n\",\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
            "data: {\"choices\":[]}\n\n",
            "data: [DONE]\n\n",
        );

        let first = r#""id":"first","object":"chat.completion.chunk","created":7,"model":"m""#;
        assert_eq!(
            rewrite_heads(events.as_bytes(), &head),
            format!(
                "data: {{{first},\"choices\":[{{\"delta\":{{\"content\":\"a\"}}}}]}}\n\n\
                 data: {{{first},\"choices\":[]}}\n\ndata: [DONE]\n\n"
            )
        );
    }
}
