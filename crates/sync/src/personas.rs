//! Required fields of a persona, and their limits.

use pia_kernel::utf16_len;
use serde_json::{Map, Value};

use crate::item::ItemRejection;

/// Maximum length of each text, in UTF-16 code units.
const MAX_FIELD_CHARS: [(&str, usize); 5] = [
    ("name", 255),
    ("tagline", 280),
    ("systemPrompt", 20_000),
    ("guardrails", 5_000),
    ("modelType", 50),
];
const REQUIRED: [&str; 2] = ["name", "systemPrompt"];
const MAX_EXPERTISE: usize = 16;

/// Rejects a persona that no device could have created.
pub(crate) fn check(fields: &Map<String, Value>) -> Result<(), ItemRejection> {
    let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
    let lacking = REQUIRED.iter().any(|it| text(it).trim().is_empty());
    let too_long = MAX_FIELD_CHARS.iter().any(|(it, max)| utf16_len(text(it)) > *max);
    let expertise = fields.get("expertise").and_then(Value::as_array).map_or(0, Vec::len);
    if lacking || too_long || expertise > MAX_EXPERTISE {
        return Err(ItemRejection::InvalidPersona);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(key: &str, value: Value) -> Result<(), ItemRejection> {
        let mut persona = json!({ "name": "Ada", "systemPrompt": "Count." });
        persona[key] = value;
        check(persona.as_object().unwrap())
    }

    #[test]
    fn a_persona_has_a_name_and_a_prompt() {
        assert_eq!(with("toolScope", 9.into()), Ok(()));
        for key in REQUIRED {
            for nothing in [json!(null), json!(""), json!("  ")] {
                assert_eq!(with(key, nothing), Err(ItemRejection::InvalidPersona), "{key}");
            }
        }
    }

    #[test]
    fn texts_are_limited_in_utf_16_code_units() {
        for (key, max) in MAX_FIELD_CHARS {
            assert_eq!(with(key, "x".repeat(max).into()), Ok(()), "{key}");
            assert_eq!(with(key, "x".repeat(max + 1).into()), Err(ItemRejection::InvalidPersona));
            assert_eq!(with(key, "😀".repeat(max / 2).into()), Ok(()), "{key}");
            assert_eq!(
                with(key, "😀".repeat(max / 2 + 1).into()),
                Err(ItemRejection::InvalidPersona)
            );
        }
        assert_eq!(with("expertise", vec!["x"; 16].into()), Ok(()));
        assert_eq!(with("expertise", vec!["x"; 17].into()), Err(ItemRejection::InvalidPersona));
    }
}
