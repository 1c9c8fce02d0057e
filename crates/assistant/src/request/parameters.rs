//! Parameters of a request besides its messages.
//!
//! `check` reports every invalid parameter first; the other functions then read the valid
//! ones and treat anything else as absent.

use std::ops::RangeInclusive;

use pia_kernel::utf16_len;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::Violation;
use crate::ports::{CapName, OutputCap};
use crate::routing::target::ReasoningEffort;

/// Parameters that are numbers, with their ranges in OpenAI's API.
const RANGES: [(&str, RangeInclusive<f64>); 4] = [
    ("temperature", 0.0..=2.0),
    ("top_p", 0.0..=1.0),
    ("presence_penalty", -2.0..=2.0),
    ("frequency_penalty", -2.0..=2.0),
];
/// Maximum length of a model name in bytes.
const MAX_NAME_BYTES: usize = 256;
/// Maximum length of a persona type in UTF-16 code units.
const MAX_PERSONA_TYPE_CHARS: usize = 50;
/// Persona type of requests in which it is blank.
const GENERAL: &str = "general";
/// Parameters that are whole numbers above 0.
const COUNT_KEYS: [&str; 2] = ["max_tokens", "max_completion_tokens"];

/// Checks the types and ranges of parameters, except of those that only upstreams
/// interpret.
pub(crate) fn check<'a>(
    get: &dyn Fn(&str) -> Option<&'a RawValue>,
    violations: &mut Vec<Violation>,
) {
    for (key, range) in RANGES {
        if let Some(value) = get(key) {
            check_range(key, value, &range, violations);
        }
    }

    for key in COUNT_KEYS {
        if let Some(value) = get(key)
            && count(value).is_none()
        {
            let message = format!("{key} must be a whole number above 0.");
            violations.push(Violation::new(key, "out_of_range", message));
        }
    }

    // Reservations and streams assume one response.
    if let Some(value) = get("n")
        && count(value) != Some(1)
    {
        violations.push(Violation::new("n", "out_of_range", "n must be 1."));
    }

    if let Some(value) = get("stream")
        && serde_json::from_str::<bool>(value.get()).is_err()
    {
        violations.push(Violation::new("stream", "invalid_type", "stream must be true or false."));
    }

    if let Some(value) = get("stream_options")
        && options(value.get()).is_none()
    {
        let message = "stream_options must be an object whose include_usage is true or false.";
        violations.push(Violation::new("stream_options", "invalid_type", message));
    }
}

/// Returns the requested maximum length of the response; of two, the smaller.
pub(crate) fn cap<'a>(get: &dyn Fn(&str) -> Option<&'a RawValue>) -> Option<OutputCap> {
    let parse = |name: CapName| {
        let tokens = count(get(name.key())?)?;
        Some(OutputCap { tokens, name: Some(name) })
    };
    let max_tokens = parse(CapName::MaxTokens);
    let max_completion_tokens = parse(CapName::MaxCompletionTokens);
    max_tokens.into_iter().chain(max_completion_tokens).min_by_key(|it| it.tokens)
}

/// Parses an integer above 0, which may be written with a point: in JSON, 1 and
/// 1.0 are equal.
fn count(value: &RawValue) -> Option<i64> {
    let integer = serde_json::from_str(value.get()).ok();
    let count = integer.or_else(|| {
        let number: f64 = serde_json::from_str(value.get()).ok()?;
        // Rust formats an integral number without a point, and never with an
        // exponent.
        number.to_string().parse().ok()
    });
    count.filter(|it| *it > 0)
}

/// Returns the requested reasoning effort, or `None` for an unknown name.
pub(crate) fn effort(value: &RawValue) -> Option<ReasoningEffort> {
    let name: String = serde_json::from_str(value.get()).ok()?;
    ReasoningEffort::from_name(&name)
}

/// Returns the model name of a request, unless it is empty or too long.
pub(crate) fn name(value: &RawValue) -> Option<String> {
    let text: String = serde_json::from_str(value.get()).ok()?;
    let name = text.trim();
    (!name.is_empty() && name.len() <= MAX_NAME_BYTES).then(|| name.to_owned())
}

/// Returns the persona type of a request: `general` if it is blank, `None` if
/// it is invalid.
pub(crate) fn persona_type(metadata: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Metadata<'a> {
        #[serde(borrow)]
        pia_persona_type: Option<&'a RawValue>,
    }

    let metadata: Metadata<'_> = serde_json::from_str(metadata.get()).ok()?;
    let text: String = serde_json::from_str(metadata.pia_persona_type?.get()).ok()?;
    let name = match text.trim() {
        "" => GENERAL,
        name => name,
    };

    (utf16_len(name) <= MAX_PERSONA_TYPE_CHARS).then(|| name.to_lowercase())
}

/// Returns whether the options of a stream request usage.
pub(crate) fn include_usage(json: &str) -> bool {
    options(json).is_some_and(|it| it.include_usage == Some(true))
}

#[derive(Deserialize)]
struct Options {
    include_usage: Option<bool>,
}

fn options(json: &str) -> Option<Options> {
    if json.starts_with('{') { serde_json::from_str(json).ok() } else { None }
}

/// Adds a violation unless the value is a number in this range.
fn check_range(
    key: &str,
    value: &RawValue,
    range: &RangeInclusive<f64>,
    violations: &mut Vec<Violation>,
) {
    match serde_json::from_str::<f64>(value.get()) {
        Ok(number) if range.contains(&number) => {}
        Ok(_) => {
            let message = format!("{key} must be from {} to {}.", range.start(), range.end());
            violations.push(Violation::new(key, "out_of_range", message));
        }
        Err(_) => {
            let message = format!("{key} must be a number.");
            violations.push(Violation::new(key, "invalid_type", message));
        }
    }
}
