//! Parsing of the usage that an upstream reports.
//!
//! `usage` reads leniently, for our own records. `is_common` is strict: only usage that
//! every client can read is forwarded as it is, and other usage is written anew
//! (`stream/chunk.rs`, `stream/normalize.rs`).

use serde_json::Value;

use crate::credits::usage::Usage;

/// Maximum of a token count: more than any call can use. Larger counts are
/// errors of the upstream that must not spoil a sum; clients read sums into 32
/// bits.
const MAX_TOKENS: i64 = 1_000_000_000;

/// Parses a `usage` object, or returns `None` if it has neither input nor
/// output. Invalid members count as absent.
pub(crate) fn usage(json: &str) -> Option<Usage> {
    let usage: Value = serde_json::from_str(json).ok()?;
    let reported_input = count(&usage, ["prompt_tokens", "input_tokens"]);
    let reported_output = count(&usage, ["completion_tokens", "output_tokens"]);
    if reported_input.is_none() && reported_output.is_none() {
        return None;
    }

    let input = reported_input.unwrap_or(0);
    let output = reported_output.unwrap_or(0);
    let input_details = ["prompt_tokens_details", "input_tokens_details"];
    let cached_tokens = detail(&usage, input_details, "cached_tokens");
    let output_details = ["completion_tokens_details", "output_tokens_details"];
    let reasoning_tokens = detail(&usage, output_details, "reasoning_tokens");
    Some(Usage {
        input,
        cached_input: cached_tokens.min(input),
        output,
        connector: usage.get("connector_tokens").and_then(tokens).unwrap_or(0),
        reasoning: reasoning_tokens.min(output),
    })
}

/// Returns the count under the first of two keys that has one.
fn count(usage: &Value, keys: [&str; 2]) -> Option<i64> {
    keys.into_iter().find_map(|key| usage.get(key).and_then(tokens))
}

/// Returns the count under a key of the first of two objects that has one; 0 if
/// none has.
fn detail(usage: &Value, objects: [&str; 2], key: &str) -> i64 {
    let mut counts = objects.into_iter().filter_map(|object| usage.get(object)?.get(key));
    counts.find_map(tokens).unwrap_or(0)
}

/// Returns whether a `usage` object has the keys that every client reads, and
/// no value of a type that some clients reject.
pub(crate) fn is_common(json: &str) -> bool {
    let Ok(Value::Object(usage)) = serde_json::from_str(json) else { return false };

    let mut required_keys = ["prompt_tokens", "completion_tokens"].into_iter();
    required_keys.all(|key| usage.get(key).is_some_and(is_count))
        && usage.iter().all(|(key, value)| is_sound(key, value))
}

/// Returns whether a member of a `usage` object has a type that all clients read.
fn is_sound(key: &str, value: &Value) -> bool {
    if key.ends_with("_tokens") {
        return value.is_null() || is_plain(value);
    }
    if !key.ends_with("_details") {
        return true;
    }

    match value {
        Value::Object(details) => details.values().all(|it| it.is_null() || is_plain(it)),
        _ => value.is_null(),
    }
}

/// Returns whether a value is an integer that clients read, and no error.
fn is_count(value: &Value) -> bool {
    is_plain(value) && tokens(value) == value.as_i64()
}

/// Returns whether a value is an integer that clients read.
fn is_plain(value: &Value) -> bool {
    value.as_i64().is_some_and(|count| (0..=2 * MAX_TOKENS).contains(&count))
}

/// Parses a count, which some upstreams write with a decimal point or as a
/// string.
fn tokens(value: &Value) -> Option<i64> {
    let integer = |text: &str| {
        let digits = text.strip_suffix(".0").unwrap_or(text);
        digits.parse::<i128>().ok()
    };
    let count = match value {
        Value::Number(number) => integer(&number.to_string()),
        Value::String(text) => integer(text.trim()),
        _ => None,
    };
    i64::try_from(count?.clamp(0, MAX_TOKENS.into())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_parsed() {
        let chat = r#"{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,
            "prompt_tokens_details":{"cached_tokens":3,"audio_tokens":0}}"#;
        let responses = r#"{"input_tokens":5,"output_tokens":2,"input_tokens_details":null,
            "output_tokens_details":{"reasoning_tokens":1}}"#;
        assert_eq!(
            usage(chat),
            Some(Usage { input: 5, cached_input: 3, output: 2, connector: 0, reasoning: 0 })
        );
        assert_eq!(
            usage(responses),
            Some(Usage { input: 5, cached_input: 0, output: 2, connector: 0, reasoning: 1 })
        );
    }

    #[test]
    fn reasoning_is_part_of_the_output() {
        let parsed_reasoning = |reasoning: u32| {
            let details = format!(r#"{{"reasoning_tokens":{reasoning}}}"#);
            let json = format!(
                r#"{{"prompt_tokens":1,"completion_tokens":9,"completion_tokens_details":{details}}}"#
            );
            usage(&json).unwrap().reasoning
        };

        assert_eq!([0, 7, 70].map(parsed_reasoning), [0, 7, 9]);
    }

    #[test]
    fn unusual_counts_are_parsed_and_are_not_common() {
        let variants = [
            r#"{"prompt_tokens":5.0,"completion_tokens":"2"}"#,
            r#"{"prompt_tokens":5,"completion_tokens":2,"prompt_tokens_details":"none"}"#,
            r#"{"prompt_tokens":5,"completion_tokens":2,"completion_tokens_details":{"a":"b"}}"#,
            r#"{"prompt_tokens":5,"completion_tokens":2,"total_tokens":"7"}"#,
            r#"{"input_tokens":5,"output_tokens":2}"#,
        ];
        for json in variants {
            let counts = usage(json).unwrap();

            assert_eq!((counts.input, counts.output, is_common(json)), (5, 2, false), "{json}");
        }
        let common = r#"{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,"cost":0.1,
            "completion_tokens_details":null,"prompt_tokens_details":{"cached_tokens":null}}"#;
        assert!(is_common(common));
    }

    #[test]
    fn invalid_counts_are_clamped_or_absent() {
        assert_eq!(usage("{}"), None);
        assert_eq!(usage("7"), None);
        assert_eq!(usage(r#"{"prompt_tokens":"many"}"#), None);
        assert_eq!(usage(r#"{"prompt_tokens":-5}"#).unwrap(), Usage::default());
        assert_eq!(
            usage(r#"{"prompt_tokens":18446744073709551615}"#).unwrap().input,
            1_000_000_000
        );
        assert!(!is_common(r#"{"prompt_tokens":1000000000000000,"completion_tokens":1}"#));
        assert!(!is_common(r#"{"prompt_tokens":-5,"completion_tokens":1}"#));
        assert_eq!(
            usage(r#"{"prompt_tokens":1,"prompt_tokens_details":{"cached_tokens":9}}"#)
                .unwrap()
                .cached_input,
            1
        );
    }
}
