//! Event of a stream that says something to us.

use crate::credits;
use crate::credits::usage::Usage;
use pia_json::{Members, quoted};

/// Treatment of an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EventAction {
    /// Chunk is forwarded unchanged.
    Untouched,
    /// Chunk is replaced by one or two events.
    Rewritten(Vec<String>),
    /// Chunk is not forwarded.
    Withheld,
    /// The upstream reports an error.
    Error(String),
    /// Chunk is invalid.
    Broken,
}

/// Usage that an event reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UsageChunk {
    pub(crate) usage: Usage,
    /// Chunk with this usage for the caller, with the members that the upstream
    /// puts on every chunk.
    pub(crate) json: String,
}

/// An event, read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ParsedEvent {
    pub(crate) verdict: EventAction,
    pub(crate) usage: Option<UsageChunk>,
    /// Reason why the answer ends, if this event says that it does.
    pub(crate) ends: bool,
    /// True if it holds a part of a tool call.
    pub(crate) calls: bool,
    /// True if it is of an answer, and not only about one.
    pub(crate) answers: bool,
    /// Members of every chunk of the upstream, for our own chunks.
    pub(crate) head: Option<ChunkHead>,
}

/// Members that every chunk of an answer has: members of an object, without
/// braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChunkHead(String);

impl ChunkHead {
    /// Chunk head of an answer whose upstream has not sent one.
    pub(crate) fn new(id: &str, created: i64, model: &str) -> Self {
        let (id, model) = (quoted(id), quoted(model));
        Self(format!(
            r#""id":{id},"object":"chat.completion.chunk","created":{created},"model":{model}"#
        ))
    }

    fn from_members(chunk: &Members<'_>) -> Option<Self> {
        let head = chunk.only(&HEAD).to_json();
        let members = head.strip_prefix('{')?.strip_suffix('}')?;
        (!members.is_empty()).then(|| Self(members.to_owned()))
    }

    /// A chunk of something else, as one of this answer.
    pub(crate) fn apply_to(&self, json: &[u8]) -> Option<String> {
        let mut chunk: Members<'_> = serde_json::from_slice(json).ok()?;
        for key in HEAD {
            chunk.remove(key);
        }
        let (Self(head), chunk) = (self, chunk.to_json());
        let rest = chunk.strip_prefix('{')?;
        Some(if rest == "}" { format!("{{{head}}}") } else { format!("{{{head},{rest}") })
    }

    /// The chunk that an upstream owes which is done without saying why.
    pub(crate) fn end(&self, reason: &str) -> String {
        let (Self(head), reason) = (self, quoted(reason));
        format!(r#"{{{head},"choices":[{{"index":0,"delta":{{}},"finish_reason":{reason}}}]}}"#)
    }

    /// The chunk that reports usage of which the upstream has reported none.
    pub(crate) fn usage(&self, usage: &str) -> String {
        let Self(head) = self;
        format!(r#"{{{head},"choices":[],"usage":{usage}}}"#)
    }
}

const HEAD: [&str; 5] = ["id", "object", "created", "model", "system_fingerprint"];

impl ParsedEvent {
    fn from_action(verdict: EventAction) -> Self {
        let (ends, calls, answers) = (false, false, false);
        Self { verdict, usage: None, ends, calls, answers, head: None }
    }
}

/// Reads an event: an error, usage to take out, an end to put right.
///
/// Callers skip a chunk without `delta`, the reason for the end included, and
/// count on an end that says nothing else; so an end gets an empty one, and
/// what else it said goes before it.
pub(crate) fn parse(json: &[u8]) -> ParsedEvent {
    let Ok(mut chunk) = serde_json::from_slice::<Members<'_>>(json) else {
        return ParsedEvent::from_action(EventAction::Broken);
    };
    if let Some(error) = chunk.get("error") {
        return ParsedEvent::from_action(EventAction::Error(error.to_owned()));
    }
    let usage = take_usage(&mut chunk);
    if chunk.get("choices").is_none() && usage.is_none() {
        return ParsedEvent::from_action(match bare_error(&chunk) {
            Some(error) => EventAction::Error(error),
            None => EventAction::Withheld,
        });
    }
    let choices = chunk.get("choices").unwrap_or("[]");
    let calls = choices.contains(r#""tool_calls""#);
    let Ok(mut choices) = serde_json::from_str::<Vec<Members<'_>>>(choices) else {
        return ParsedEvent { usage, ..ParsedEvent::from_action(EventAction::Broken) };
    };
    if let Some(error) = choices.iter().find_map(choice_error) {
        return ParsedEvent { usage, ..ParsedEvent::from_action(EventAction::Error(error)) };
    }
    let ends = choices.iter().any(|it| it.get("finish_reason").is_some());
    let before = choices.clone();
    let mended = normalize_choices(&mut choices);
    let verdict = match (&mended, usage.is_some()) {
        _ if choices.is_empty() && usage.is_some() => EventAction::Withheld,
        (FinalDelta::Fine, false) => EventAction::Untouched,
        (FinalDelta::Fine, true) => EventAction::Rewritten(vec![chunk.to_json()]),
        (FinalDelta::Emptied, _) => EventAction::Rewritten(vec![with_choices(&chunk, &choices)]),
        (FinalDelta::Split, _) => EventAction::Rewritten(vec![
            with_choices(&chunk, &without_finish_reason(before)),
            with_choices(&chunk, &choices),
        ]),
    };
    ParsedEvent {
        verdict,
        usage,
        ends,
        calls,
        answers: !choices.is_empty(),
        head: ChunkHead::from_members(&chunk),
    }
}

/// The error that something is which is no part of an answer: some send theirs
/// without calling it one, and whatever is in it is not for callers.
fn bare_error(event: &Members<'_>) -> Option<String> {
    let states = |key| event.get(key).is_some();
    let is = |key| event.get(key).is_some_and(|it| it.to_ascii_lowercase().contains("error"));
    let complains = ["message", "detail", "code", "errors"].into_iter().any(states);
    (complains || is("object") || is("type")).then(|| event.to_json())
}

/// Returns the failure that a choice reports: some upstreams report it there,
/// beside words that came before.
fn choice_error(choice: &Members<'_>) -> Option<String> {
    let failed = choice.get("finish_reason") == Some(r#""error""#);
    choice.get("error").map(str::to_owned).or(failed.then(|| "{}".to_owned()))
}

enum FinalDelta {
    Fine,
    /// Ends have empty deltas now, and nothing was lost by that.
    Emptied,
    /// Tool calls arrived in parts; text held back must be sent first.
    Split,
}

/// Gives each choice that ends an empty delta, whatever it had, and each other
/// one that has none, as where Azure reports a filter alone.
fn normalize_choices(choices: &mut [Members<'_>]) -> FinalDelta {
    let mut mended = FinalDelta::Fine;
    let bare =
        |it: &&mut Members<'_>| it.get("finish_reason").is_none() && it.get("delta").is_none();
    for choice in choices.iter_mut().filter(bare) {
        choice.set("delta", "{}".to_owned());
        mended = FinalDelta::Emptied;
    }
    for choice in choices.iter_mut().filter(|it| it.get("finish_reason").is_some()) {
        let delta = choice.get("delta").unwrap_or_default().trim();
        if delta == "{}" {
            continue;
        }
        match (&mended, has_content(delta)) {
            (_, true) => mended = FinalDelta::Split,
            (FinalDelta::Fine, false) => mended = FinalDelta::Emptied,
            _ => {}
        }
        choice.set("delta", "{}".to_owned());
    }
    mended
}

/// Returns whether a delta holds more than a role and empty texts.
fn has_content(delta: &str) -> bool {
    let Ok(delta) = serde_json::from_str::<Members<'_>>(delta) else { return false };
    delta.iter().any(|(key, value)| key != "role" && !["null", r#""""#, "[]"].contains(&value))
}

/// Returns the choices without their end.
fn without_finish_reason(mut choices: Vec<Members<'_>>) -> Vec<Members<'_>> {
    for choice in &mut choices {
        choice.remove("finish_reason");
    }
    choices
}

fn with_choices(chunk: &Members<'_>, choices: &[Members<'_>]) -> String {
    let written: Vec<String> = choices.iter().map(Members::to_json).collect();
    let mut chunk = chunk.clone();
    chunk.set("choices", format!("[{}]", written.join(",")));
    chunk.to_json()
}

/// A chunk of our own that reports usage.
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

fn take_usage(chunk: &mut Members<'_>) -> Option<UsageChunk> {
    let reported = chunk.get("usage")?.to_owned();
    let usage = credits::usage_json::usage(&reported)?;
    chunk.remove("usage");
    let json =
        if credits::usage_json::is_common(&reported) { reported } else { usage_json(&usage) };
    Some(UsageChunk { usage, json: usage_chunk(chunk, json) })
}

fn usage_chunk(chunk: &Members<'_>, usage: String) -> String {
    let mut head = chunk.only(&HEAD);
    head.set("choices", "[]".to_owned());
    head.set("usage", usage);
    head.to_json()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(json: &str) -> String {
        match parse(json.as_bytes()).verdict {
            EventAction::Rewritten(events) => events.join(" "),
            other => panic!("{other:?}"),
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
        let fine = br#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
        assert_eq!((parse(fine).verdict, parse(fine).ends), (EventAction::Untouched, true));
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
    fn what_an_end_states_besides_goes_before_it() {
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
    fn usage_is_taken_out_of_a_chunk_that_states_more() {
        let json = r#"{"id":"c","choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#;

        let ParsedEvent { verdict, usage, .. } = parse(json.as_bytes());

        let left = r#"{"id":"c","choices":[{"delta":{"content":"x"}}]}"#;
        assert_eq!(verdict, EventAction::Rewritten(vec![left.to_owned()]));
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
    fn a_chunk_of_usage_alone_is_stored() {
        let both =
            [r#"{"choices":[],"usage":{"input_tokens":3}}"#, r#"{"usage":{"input_tokens":3}}"#];
        for json in both {
            let ParsedEvent { verdict, usage, .. } = parse(json.as_bytes());

            assert_eq!((verdict, usage.unwrap().usage.input), (EventAction::Withheld, 3));
        }
    }

    #[test]
    fn usage_that_reports_nothing_is_none() {
        let json = br#"{"choices":[{"delta":{}}],"usage":{}}"#;

        assert_eq!((parse(json).verdict, parse(json).usage), (EventAction::Untouched, None));
    }

    #[test]
    fn an_error_is_reported_from_one_that_is_null() {
        assert_eq!(
            parse(br#"{"error":{"message":"x"}}"#).verdict,
            EventAction::Error(r#"{"message":"x"}"#.to_owned())
        );
        assert_eq!(parse(br#"{"error":null,"choices":[]}"#).verdict, EventAction::Untouched);
    }

    #[test]
    fn an_error_may_stand_in_a_choice() {
        let error = r#"{"choices":[{"delta":{},"finish_reason":"error","error":{"message":"x"}}]}"#;
        let reason = r#"{"choices":[{"delta":{},"finish_reason":"error"}]}"#;

        assert_eq!(
            parse(error.as_bytes()).verdict,
            EventAction::Error(r#"{"message":"x"}"#.to_owned())
        );
        assert_eq!(parse(reason.as_bytes()).verdict, EventAction::Error("{}".to_owned()));
    }

    #[test]
    fn an_error_may_not_be_called_one() {
        for error in [
            r#"{"object":"error","message":"sk-1","code":500}"#,
            r#"{"detail":"Not Found"}"#,
            r#"{"type":"server_error"}"#,
            r#"{"choices":null,"code":7}"#,
        ] {
            assert_eq!(parse(error.as_bytes()).verdict, EventAction::Error(error.to_owned()));
        }
    }

    #[test]
    fn what_states_nothing_of_an_answer_is_not_for_its_caller() {
        for json in ["{}", r#"{"type":"ping"}"#, r#"{"id":"c","choices":null}"#] {
            assert_eq!(
                parse(json.as_bytes()),
                ParsedEvent::from_action(EventAction::Withheld),
                "{json}"
            );
        }
    }

    #[test]
    fn what_is_no_chunk_is_broken() {
        for json in ["{", "[]", "1", r#"{"choices":7}"#, r#"{"choices":[1]}"#] {
            assert_eq!(parse(json.as_bytes()).verdict, EventAction::Broken, "{json}");
        }
    }

    #[test]
    fn our_own_usage_has_the_keys_that_clients_read() {
        assert_eq!(
            usage_json(&Usage { input: 5, cached_input: 2, output: 3, connector: 0, reasoning: 0 }),
            r#"{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8,"prompt_tokens_details":{"cached_tokens":2}}"#
        );
    }
}
