//! Parsed events of a stream.
//!
//! `ChatStream` parses what `normalize.rs` has repaired and acts on the `EventAction`. Usage
//! is always removed from its event: callers get it in a last chunk of its own, if they
//! requested it.

use pia_json::Members;

use crate::credits;
use crate::credits::usage::Usage;
use crate::stream::chunk_head::{ChunkHead, HEAD_KEYS};

/// Treatment of an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EventAction {
    /// Chunk is forwarded unchanged.
    Unchanged,
    /// Chunk is replaced by one or two events.
    Rewritten(Vec<String>),
    /// Chunk is not forwarded.
    Dropped,
    /// The upstream reports an error, with its JSON; the response ends.
    Error(String),
    /// Event is not a chunk, which ends the response.
    Invalid,
}

/// Usage reported by an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UsageChunk {
    pub(crate) usage: Usage,
    /// Chunk with this usage for the caller, with the upstream's common
    /// members.
    pub(crate) json: String,
}

/// Treatment of an event, and its facts on which the end of the response depends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ParsedEvent {
    pub(crate) action: EventAction,
    pub(crate) usage: Option<UsageChunk>,
    pub(crate) has_finish_reason: bool,
    /// Set if it has a part of a tool call.
    pub(crate) has_tool_calls: bool,
    pub(crate) has_choices: bool,
    /// Common members of the upstream's chunks, for our own chunks.
    pub(crate) head: Option<ChunkHead>,
}

impl ParsedEvent {
    fn from_action(action: EventAction) -> Self {
        Self {
            action,
            usage: None,
            has_finish_reason: false,
            has_tool_calls: false,
            has_choices: false,
            head: None,
        }
    }
}

/// Parses an event: reports errors, extracts usage, and normalises the end.
///
/// Callers skip a chunk without `delta`, even if it has a finish reason, and
/// expect a finish reason alone; so such a chunk gets an empty delta, and its
/// other contents precede it.
pub(crate) fn parse(json: &[u8]) -> ParsedEvent {
    let Ok(mut chunk) = serde_json::from_slice::<Members<'_>>(json) else {
        return ParsedEvent::from_action(EventAction::Invalid);
    };
    if let Some(error) = chunk.get("error") {
        return ParsedEvent::from_action(EventAction::Error(error.to_owned()));
    }

    let usage = take_usage(&mut chunk);
    if chunk.get("choices").is_none() && usage.is_none() {
        return ParsedEvent::from_action(match bare_error(&chunk) {
            Some(error) => EventAction::Error(error),
            None => EventAction::Dropped,
        });
    }

    // A chunk with usage alone has no choices, or an empty list.
    let choices_json = chunk.get("choices").unwrap_or("[]");
    let has_tool_calls = choices_json.contains(r#""tool_calls""#);
    let Ok(mut choices) = serde_json::from_str::<Vec<Members<'_>>>(choices_json) else {
        return ParsedEvent { usage, ..ParsedEvent::from_action(EventAction::Invalid) };
    };
    if let Some(error) = choices.iter().find_map(choice_error) {
        return ParsedEvent { usage, ..ParsedEvent::from_action(EventAction::Error(error)) };
    }

    let has_finish_reason = choices.iter().any(|it| it.get("finish_reason").is_some());
    let original_choices = choices.clone();
    let delta_change = normalize_choices(&mut choices);
    let has_usage = usage.is_some();
    let action = match delta_change {
        _ if choices.is_empty() && has_usage => EventAction::Dropped,
        DeltaChange::None if has_usage => EventAction::Rewritten(vec![chunk.to_json()]),
        DeltaChange::None => EventAction::Unchanged,
        DeltaChange::Emptied => EventAction::Rewritten(vec![with_choices(&chunk, &choices)]),
        DeltaChange::Split => EventAction::Rewritten(vec![
            with_choices(&chunk, &without_finish_reason(original_choices)),
            with_choices(&chunk, &choices),
        ]),
    };

    ParsedEvent {
        action,
        usage,
        has_finish_reason,
        has_tool_calls,
        has_choices: !choices.is_empty(),
        head: ChunkHead::from_members(&chunk),
    }
}

/// Returns an event that is an error without an `error` member: some upstreams
/// send such events, which are not for callers.
fn bare_error(event: &Members<'_>) -> Option<String> {
    let has_detail =
        ["message", "detail", "code", "errors"].into_iter().any(|key| event.get(key).is_some());
    let is_named_error = ["object", "type"]
        .into_iter()
        .any(|key| event.get(key).is_some_and(|it| it.to_ascii_lowercase().contains("error")));
    (has_detail || is_named_error).then(|| event.to_json())
}

/// Returns the error of a choice: some upstreams report it there, after a part
/// of the response.
fn choice_error(choice: &Members<'_>) -> Option<String> {
    if let Some(error) = choice.get("error") {
        return Some(error.to_owned());
    }
    let has_failed = choice.get("finish_reason") == Some(r#""error""#);
    has_failed.then(|| "{}".to_owned())
}

/// Change of the deltas of a chunk, in the order in which one outweighs another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DeltaChange {
    None,
    /// Deltas without content were emptied.
    Emptied,
    /// Deltas of the end were emptied although they had content, which must be sent first.
    Split,
}

/// Sets an empty delta in each choice with a finish reason, and in each other
/// one without a delta, such as Azure's filter results.
fn normalize_choices(choices: &mut [Members<'_>]) -> DeltaChange {
    let mut change = DeltaChange::None;
    for choice in choices {
        change = change.max(normalize_choice(choice));
    }
    change
}

fn normalize_choice(choice: &mut Members<'_>) -> DeltaChange {
    let is_end = choice.get("finish_reason").is_some();
    let change = match choice.get("delta").map(str::trim) {
        Some("{}") => DeltaChange::None,
        Some(_) if !is_end => DeltaChange::None,
        Some(delta) if has_content(delta) => DeltaChange::Split,
        Some(_) | None => DeltaChange::Emptied,
    };
    if change != DeltaChange::None {
        choice.set("delta", "{}".to_owned());
    }
    change
}

/// Returns whether a delta has more than a role and empty texts.
fn has_content(delta: &str) -> bool {
    let Ok(delta) = serde_json::from_str::<Members<'_>>(delta) else { return false };
    delta.iter().any(|(key, value)| key != "role" && !["null", r#""""#, "[]"].contains(&value))
}

/// Returns the choices without their finish reasons.
fn without_finish_reason(mut choices: Vec<Members<'_>>) -> Vec<Members<'_>> {
    for choice in &mut choices {
        choice.remove("finish_reason");
    }
    choices
}

fn with_choices(chunk: &Members<'_>, choices: &[Members<'_>]) -> String {
    let choices_json: Vec<String> = choices.iter().map(Members::to_json).collect();
    let mut chunk = chunk.clone();
    chunk.set("choices", format!("[{}]", choices_json.join(",")));
    chunk.to_json()
}

/// Formats usage as JSON.
pub(crate) fn usage_json(usage: &Usage) -> String {
    format!(
        concat!(
            r#"{{"prompt_tokens":{},"completion_tokens":{},"total_tokens":{},"#,
            r#""prompt_tokens_details":{{"cached_tokens":{}}}}}"#
        ),
        usage.input,
        usage.output,
        usage.input.saturating_add(usage.output),
        usage.cached_input
    )
}

/// Removes the usage of a chunk, and returns it with a chunk of its own.
fn take_usage(chunk: &mut Members<'_>) -> Option<UsageChunk> {
    let reported_json = chunk.get("usage")?.to_owned();
    let usage = credits::usage_json::usage(&reported_json)?;
    chunk.remove("usage");

    let is_common = credits::usage_json::is_common(&reported_json);
    let common_json = if is_common { reported_json } else { usage_json(&usage) };
    let mut usage_chunk = chunk.only(&HEAD_KEYS);
    usage_chunk.set("choices", "[]".to_owned());
    usage_chunk.set("usage", common_json);
    Some(UsageChunk { usage, json: usage_chunk.to_json() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(json: &str) -> String {
        match parse(json.as_bytes()).action {
            EventAction::Rewritten(events) => events.join(" "),
            action => panic!("{action:?}"),
        }
    }

    #[test]
    fn an_end_without_a_delta_gets_an_empty_one() {
        assert_eq!(
            rewritten(r#"{"id":"c","choices":[{"index":0,"finish_reason":"stop"}]}"#),
            r#"{"id":"c","choices":[{"index":0,"finish_reason":"stop","delta":{}}]}"#
        );
        assert_eq!(
            rewritten(r#"{"choices":[{"delta":null,"finish_reason":"stop"}]}"#),
            r#"{"choices":[{"finish_reason":"stop","delta":{}}]}"#
        );

        let event = parse(br#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#);
        assert_eq!(event.action, EventAction::Unchanged);
        assert!(event.has_finish_reason);
    }

    #[test]
    fn a_choice_without_a_delta_gets_an_empty_one() {
        assert_eq!(
            rewritten(
                r#"{"choices":[{"index":0,"finish_reason":null,"content_filter_offsets":{}}]}"#
            ),
            r#"{"choices":[{"index":0,"finish_reason":null,"content_filter_offsets":{},"delta":{}}]}"#
        );
    }

    #[test]
    fn other_contents_of_an_end_precede_it() {
        assert_eq!(
            rewritten(r#"{"id":"c","choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}"#),
            r#"{"id":"c","choices":[{"delta":{"content":"x"}}]} {"id":"c","choices":[{"finish_reason":"stop","delta":{}}]}"#
        );
        assert_eq!(
            rewritten(
                r#"{"choices":[{"delta":{"role":"assistant","content":""},"finish_reason":"stop"}]}"#
            ),
            r#"{"choices":[{"finish_reason":"stop","delta":{}}]}"#
        );
    }

    #[test]
    fn usage_is_extracted_from_a_chunk_with_content() {
        let json = r#"{"id":"c","choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#;

        let ParsedEvent { action, usage, .. } = parse(json.as_bytes());

        let delta_chunk = r#"{"id":"c","choices":[{"delta":{"content":"x"}}]}"#;
        assert_eq!(action, EventAction::Rewritten(vec![delta_chunk.to_owned()]));
        assert_eq!(
            usage.unwrap(),
            UsageChunk {
                usage: Usage { input: 3, cached_input: 0, output: 1, connector: 0, reasoning: 0 },
                json:
                    r#"{"id":"c","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#
                        .to_owned(),
            }
        );
    }

    #[test]
    fn a_chunk_with_only_usage_is_dropped() {
        let empty_choices = r#"{"choices":[],"usage":{"input_tokens":3}}"#;
        let without_choices = r#"{"usage":{"input_tokens":3}}"#;
        for json in [empty_choices, without_choices] {
            let ParsedEvent { action, usage, .. } = parse(json.as_bytes());

            assert_eq!(action, EventAction::Dropped);
            assert_eq!(usage.unwrap().usage.input, 3);
        }
    }

    #[test]
    fn empty_usage_is_none() {
        let event = parse(br#"{"choices":[{"delta":{}}],"usage":{}}"#);

        assert_eq!(event.action, EventAction::Unchanged);
        assert_eq!(event.usage, None);
    }

    #[test]
    fn an_error_is_distinguished_from_null() {
        assert_eq!(
            parse(br#"{"error":{"message":"x"}}"#).action,
            EventAction::Error(r#"{"message":"x"}"#.to_owned())
        );
        assert_eq!(parse(br#"{"error":null,"choices":[]}"#).action, EventAction::Unchanged);
    }

    #[test]
    fn an_error_may_be_in_a_choice() {
        let error = r#"{"choices":[{"delta":{},"finish_reason":"error","error":{"message":"x"}}]}"#;
        let reason = r#"{"choices":[{"delta":{},"finish_reason":"error"}]}"#;

        assert_eq!(
            parse(error.as_bytes()).action,
            EventAction::Error(r#"{"message":"x"}"#.to_owned())
        );
        assert_eq!(parse(reason.as_bytes()).action, EventAction::Error("{}".to_owned()));
    }

    #[test]
    fn an_error_may_lack_the_error_member() {
        for error in [
            r#"{"object":"error","message":"sk-1","code":500}"#,
            r#"{"detail":"Not Found"}"#,
            r#"{"type":"server_error"}"#,
            r#"{"choices":null,"code":7}"#,
        ] {
            assert_eq!(parse(error.as_bytes()).action, EventAction::Error(error.to_owned()));
        }
    }

    #[test]
    fn events_that_are_not_part_of_a_response_are_dropped() {
        for json in ["{}", r#"{"type":"ping"}"#, r#"{"id":"c","choices":null}"#] {
            assert_eq!(
                parse(json.as_bytes()),
                ParsedEvent::from_action(EventAction::Dropped),
                "{json}"
            );
        }
    }

    #[test]
    fn other_json_is_invalid() {
        for json in ["{", "[]", "1", r#"{"choices":7}"#, r#"{"choices":[1]}"#] {
            assert_eq!(parse(json.as_bytes()).action, EventAction::Invalid, "{json}");
        }
    }

    #[test]
    fn formatted_usage_has_the_keys_that_clients_read() {
        assert_eq!(
            usage_json(&Usage { input: 5, cached_input: 2, output: 3, connector: 0, reasoning: 0 }),
            r#"{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8,"prompt_tokens_details":{"cached_tokens":2}}"#
        );
    }
}
