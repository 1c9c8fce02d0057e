//! Parsing of the usage that an upstream reports.

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
    let count = |one: &str, other: &str| {
        usage.get(one).and_then(tokens).or(usage.get(other).and_then(tokens))
    };
    let input = count("prompt_tokens", "input_tokens");
    let output = count("completion_tokens", "output_tokens");
    if input.is_none() && output.is_none() {
        return None;
    }

    let detail = |parents: [&str; 2], key: &str| {
        parents.into_iter().find_map(|it| usage.get(it)?.get(key).and_then(tokens)).unwrap_or(0)
    };
    let input = input.unwrap_or(0);
    let output = output.unwrap_or(0);
    let cached = detail(["prompt_tokens_details", "input_tokens_details"], "cached_tokens");
    let reasoning =
        detail(["completion_tokens_details", "output_tokens_details"], "reasoning_tokens");
    Some(Usage {
        input,
        cached_input: cached.min(input),
        output,
        connector: usage.get("connector_tokens").and_then(tokens).unwrap_or(0),
        reasoning: reasoning.min(output),
    })
}

/// Returns whether a `usage` object has the keys that every client reads, and
/// no value of a type that some clients reject.
pub(crate) fn is_common(json: &str) -> bool {
    let Ok(Value::Object(usage)) = serde_json::from_str(json) else { return false };

    let is_plain = |it: &Value| it.as_i64().is_some_and(|it| (0..=2 * MAX_TOKENS).contains(&it));
    let is_count =
        |key: &str| usage.get(key).is_some_and(|it| is_plain(it) && tokens(it) == it.as_i64());

    let is_sound = |(key, value): (&String, &Value)| match key.as_str() {
        it if it.ends_with("_tokens") => is_plain(value) || value.is_null(),
        it if it.ends_with("_details") => value.as_object().map_or(value.is_null(), |details| {
            details.values().all(|it| is_plain(it) || it.is_null())
        }),
        _ => true,
    };

    is_count("prompt_tokens") && is_count("completion_tokens") && usage.iter().all(is_sound)
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
        let read = |json| usage(json).unwrap();

        assert_eq!(
            read(
                r#"{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,
                    "prompt_tokens_details":{"cached_tokens":3,"audio_tokens":0}}"#
            ),
            Usage { input: 5, cached_input: 3, output: 2, connector: 0, reasoning: 0 }
        );
        assert_eq!(
            read(
                r#"{"input_tokens":5,"output_tokens":2,"input_tokens_details":null,
                    "output_tokens_details":{"reasoning_tokens":1}}"#
            ),
            Usage { input: 5, cached_input: 0, output: 2, connector: 0, reasoning: 1 }
        );
    }

    #[test]
    fn reasoning_is_part_of_the_output() {
        let read = |reasoning: u32| {
            let details = format!(r#"{{"reasoning_tokens":{reasoning}}}"#);
            let json = format!(
                r#"{{"prompt_tokens":1,"completion_tokens":9,"completion_tokens_details":{details}}}"#
            );
            usage(&json).unwrap().reasoning
        };

        assert_eq!([read(0), read(7), read(70)], [0, 7, 9]);
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
