//! What an upstream tells of the tokens it used.

use serde::Deserialize;
use serde_json::Number;

use crate::usage::Usage;

/// More than any call can use; what an upstream tells beyond it is nonsense
/// that must not spoil a sum.
const MOST: u64 = 1_000_000_000_000;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Told {
    prompt_tokens: Option<Number>,
    input_tokens: Option<Number>,
    completion_tokens: Option<Number>,
    output_tokens: Option<Number>,
    connector_tokens: Option<Number>,
    prompt_tokens_details: Option<Details>,
    input_tokens_details: Option<Details>,
    completion_tokens_details: Option<Details>,
    output_tokens_details: Option<Details>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Details {
    cached_tokens: Option<Number>,
    reasoning_tokens: Option<Number>,
}

/// Reads a `usage` object; nothing if it tells neither input nor output.
pub(crate) fn usage(json: &str) -> Option<Usage> {
    let told: Told = serde_json::from_str(json).ok()?;
    let input = told.prompt_tokens.or(told.input_tokens);
    let output = told.completion_tokens.or(told.output_tokens);
    if input.is_none() && output.is_none() {
        return None;
    }
    let details = told.prompt_tokens_details.or(told.input_tokens_details).unwrap_or_default();
    let of_output = told.completion_tokens_details.or(told.output_tokens_details);
    let of_output = of_output.unwrap_or_default();
    let (input, output) = (tokens(input.as_ref()), tokens(output.as_ref()));
    Some(Usage {
        input,
        cached_input: tokens(details.cached_tokens.as_ref()).min(input),
        output,
        connector: tokens(told.connector_tokens.as_ref()),
        reasoning: tokens(of_output.reasoning_tokens.as_ref()).min(output),
    })
}

/// Whether a `usage` object has the keys that every client reads.
pub(crate) fn is_common(json: &str) -> bool {
    serde_json::from_str::<Told>(json)
        .is_ok_and(|it| it.prompt_tokens.is_some() && it.completion_tokens.is_some())
}

fn tokens(number: Option<&Number>) -> i64 {
    let tokens = number.and_then(Number::as_u64).unwrap_or(0).min(MOST);
    i64::try_from(tokens).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_read() {
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
    fn nonsense_is_bounded_or_nothing() {
        assert_eq!(usage("{}"), None);
        assert_eq!(usage("7"), None);
        assert_eq!(usage(r#"{"prompt_tokens":"many"}"#), None);
        assert_eq!(usage(r#"{"prompt_tokens":-5}"#).unwrap(), Usage::default());
        assert_eq!(
            usage(r#"{"prompt_tokens":18446744073709551615}"#).unwrap().input,
            1_000_000_000_000
        );
        assert_eq!(
            usage(r#"{"prompt_tokens":1,"prompt_tokens_details":{"cached_tokens":9}}"#)
                .unwrap()
                .cached_input,
            1
        );
    }
}
