//! Input of an assignment: a prompt, and items that a user attached, as
//! `{"schemaVersion":1,"prompt":"…","items":[{"entityType":"todo","text":"…"}]}`.
//!
//! The text is checked when it is handed over, stored as it was sent, and parsed
//! again by a worker. Unknown members are ignored.

use pia_kernel::utf16_len;
use serde::Deserialize;
use serde_json::Value;

use crate::skill::EntityType;

/// Version of the envelope.
const SCHEMA_VERSION: i64 = 1;
/// Maximum length of the prompt, in UTF-16 code units, as all lengths here.
const MAX_PROMPT_CHARS: usize = 4_000;
const MAX_ITEMS: usize = 20;
const MAX_ITEM_CHARS: usize = 8_000;
/// Maximum length of the texts of all items.
const MAX_TOTAL_CHARS: usize = 32_000;
/// Maximum length of a title and of a time, which are not limited by themselves.
const MAX_LABEL_CHARS: usize = 1_000;

/// Input of an assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputEnvelope {
    /// Prompt of the user.
    pub prompt: String,
    /// Items, in the order of the request.
    pub items: Vec<InputItem>,
}

/// Item that a user attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputItem {
    /// Type of the item.
    pub entity_type: EntityType,
    /// Title, if the item has one.
    pub title: Option<String>,
    /// Time of its last change, as the client wrote it.
    pub updated_at: Option<String>,
    /// Text that the model reads.
    pub text: String,
}

/// Reasons why an envelope is refused, in the order in which they are checked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// Text is no readable envelope, or has no prompt.
    #[error("the input is not a readable envelope with a prompt")]
    Unreadable,
    /// Version is missing or unknown.
    #[error("the schema version of the input is missing or unknown")]
    UnknownVersion,
    /// Named part of the envelope is too large.
    #[error("the input is too large: {0}")]
    TooLarge(&'static str),
    /// Type of an item does not exist.
    #[error("an item of the input has an unknown type")]
    UnknownType,
    /// Skill does not accept items of this type.
    #[error("the skill does not accept items of the type {0}")]
    UndeclaredType(&'static str),
}

/// Item, as clients send it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawItem {
    entity_type: String,
    title: Option<String>,
    updated_at: Option<String>,
    text: Option<String>,
}

impl InputEnvelope {
    /// Parses and checks an envelope, except for what depends on the skill.
    pub fn parse(json: &str) -> Result<Self, EnvelopeError> {
        let value: Value =
            serde_json::from_str(json).map_err(|_malformed| EnvelopeError::Unreadable)?;
        let prompt = value.get("prompt").and_then(Value::as_str).unwrap_or_default();
        if prompt.trim().is_empty() {
            return Err(EnvelopeError::Unreadable);
        }

        let version = value.get("schemaVersion").and_then(Value::as_i64);
        if version != Some(SCHEMA_VERSION) {
            return Err(EnvelopeError::UnknownVersion);
        }

        let raw_items: Vec<RawItem> = match value.get("items").filter(|it| !it.is_null()) {
            Some(items) => {
                Vec::deserialize(items).map_err(|_malformed| EnvelopeError::Unreadable)?
            }
            None => Vec::new(),
        };
        check_sizes(prompt, &raw_items)?;

        let items = raw_items
            .into_iter()
            .map(InputItem::from_raw)
            .collect::<Option<Vec<_>>>()
            .ok_or(EnvelopeError::UnknownType)?;

        Ok(Self { prompt: prompt.to_owned(), items })
    }

    /// Checks that a skill accepts the types of all items.
    pub fn check_types(&self, declared: &[EntityType]) -> Result<(), EnvelopeError> {
        match self.items.iter().find(|it| !declared.contains(&it.entity_type)) {
            Some(item) => Err(EnvelopeError::UndeclaredType(item.entity_type.name())),
            None => Ok(()),
        }
    }
}

impl InputItem {
    fn from_raw(raw: RawItem) -> Option<Self> {
        let RawItem { entity_type, title, updated_at, text } = raw;
        let entity_type = EntityType::from_name(&entity_type)?;
        Some(Self { entity_type, title, updated_at, text: text.unwrap_or_default() })
    }
}

fn check_sizes(prompt: &str, items: &[RawItem]) -> Result<(), EnvelopeError> {
    let is_long =
        |text: &Option<String>| text.as_ref().is_some_and(|it| utf16_len(it) > MAX_LABEL_CHARS);
    let lengths: Vec<usize> =
        items.iter().map(|it| it.text.as_deref().map_or(0, utf16_len)).collect();
    let too_large = if utf16_len(prompt) > MAX_PROMPT_CHARS {
        "the prompt"
    } else if items.len() > MAX_ITEMS {
        "the number of items"
    } else if lengths.iter().any(|it| *it > MAX_ITEM_CHARS) {
        "the text of an item"
    } else if lengths.iter().sum::<usize>() > MAX_TOTAL_CHARS {
        "the texts of all items"
    } else if items.iter().any(|it| is_long(&it.title) || is_long(&it.updated_at)) {
        "the label of an item"
    } else {
        return Ok(());
    };

    Err(EnvelopeError::TooLarge(too_large))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn item(entity_type: &str, text: &str) -> Value {
        json!({ "entityType": entity_type, "entityId": "x", "text": text })
    }

    fn parse(value: &Value) -> Result<InputEnvelope, EnvelopeError> {
        InputEnvelope::parse(&value.to_string())
    }

    #[test]
    fn an_envelope_without_items_is_read() {
        for items in [json!([]), Value::Null] {
            let envelope =
                parse(&json!({ "schemaVersion": 1, "prompt": "Why?", "items": items })).unwrap();

            assert_eq!(envelope, InputEnvelope { prompt: "Why?".to_owned(), items: Vec::new() });
        }
    }

    #[test]
    fn nulls_of_an_item_are_absent() {
        let nulls = json!({ "entityType": "todo", "title": null, "updatedAt": null, "text": null });
        let json = |item: Value| json!({ "schemaVersion": 1, "prompt": "p", "items": [item] });

        let envelope = parse(&json(nulls)).unwrap();

        assert_eq!(envelope.items[0].text, "");
        assert_eq!(Ok(envelope), parse(&json(json!({ "entityType": "todo" }))));
    }

    #[test]
    fn reasons_are_checked_in_a_fixed_order() {
        use EnvelopeError::{TooLarge, UnknownType, UnknownVersion, Unreadable};

        let long = "x".repeat(MAX_PROMPT_CHARS + 1);
        for (value, expected) in [
            (json!([]), Unreadable),
            (json!({ "schemaVersion": 2 }), Unreadable),
            (json!({ "schemaVersion": 2, "prompt": " " }), Unreadable),
            (json!({ "schemaVersion": 2, "prompt": long }), UnknownVersion),
            (json!({ "schemaVersion": "1", "prompt": "p" }), UnknownVersion),
            (json!({ "prompt": "p" }), UnknownVersion),
            (json!({ "schemaVersion": 1, "prompt": "p", "items": [7] }), Unreadable),
            (
                json!({ "schemaVersion": 1, "prompt": long, "items": [item("x", "")] }),
                TooLarge("the prompt"),
            ),
            (
                json!({ "schemaVersion": 1, "prompt": "p", "items": [item("Todo", "")] }),
                UnknownType,
            ),
        ] {
            assert_eq!(parse(&value), Err(expected), "{value}");
        }
        assert_eq!(InputEnvelope::parse("{"), Err(Unreadable));
    }

    #[test]
    fn the_limits_themselves_are_allowed_in_utf16() {
        let envelope = |prompt: usize, texts: &[usize]| {
            let items: Vec<Value> =
                texts.iter().map(|it| item("todo", &"🙂".repeat(it / 2))).collect();
            let prompt = "🙂".repeat(prompt / 2);
            parse(&json!({ "schemaVersion": 1, "prompt": prompt, "items": items }))
        };

        assert!(envelope(4_000, &[8_000; 4]).is_ok());
        assert!(envelope(2, &[0; 20]).is_ok());
        for (prompt, texts) in
            [(4_002, &[][..]), (2, &[8_002]), (2, &[8_000, 8_000, 8_000, 8_000, 2]), (2, &[0; 21])]
        {
            assert!(matches!(envelope(prompt, texts), Err(EnvelopeError::TooLarge(_))));
        }
    }

    #[test]
    fn a_skill_refuses_types_that_it_does_not_declare() {
        let json = json!({ "schemaVersion": 1, "prompt": "p", "items": [item("todo", "t")] });
        let envelope = parse(&json).unwrap();

        assert_eq!(envelope.check_types(&[EntityType::Todo]), Ok(()));
        for declared in [&[][..], &[EntityType::Memory]] {
            let expected = Err(EnvelopeError::UndeclaredType("todo"));
            assert_eq!(envelope.check_types(declared), expected);
        }
    }
}
