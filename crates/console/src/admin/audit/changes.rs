//! Fields that an action changed.

use pia_assistant::Micros;
use pia_kernel::{Language, truncate};
use serde_json::{Map, Value};

use super::objects::shorten_id;
use crate::page_context::PageContext;
use crate::ui::{Cell, Row, Text, format};

/// Maximum length of a displayed value in bytes.
const VALUE_BYTES: usize = 80;
/// End of the name of a field with millionths of credits.
const MICROS: &str = "Micros";

/// Formats changed fields: `name: "Sales" → "Sellers"; note: – → "New"`.
pub(super) fn format_changes(language: Language, changes: &str) -> String {
    let fields: Map<String, Value> = serde_json::from_str(changes).unwrap_or_default();
    let mut texts = Vec::new();

    for (name, change) in fields {
        let before = format_value(language, &name, change.get("before"));
        let after = format_value(language, &name, change.get("after"));
        let label = name.strip_suffix(MICROS).unwrap_or(&name);
        texts.push(format!("{label}: {before} → {after}"));
    }

    texts.join("; ")
}

fn format_value(language: Language, name: &str, value: Option<&Value>) -> String {
    let Some(value) = value else { return "–".to_owned() };
    if let Some(credits) = format_credits(language, name, value) {
        return credits;
    }

    let text = shorten_ids(value).to_string();
    let short = truncate(&text, VALUE_BYTES);
    if short.len() < text.len() { format!("{short}…") } else { text }
}

/// Formats millionths of credits; `None` for a field of other values.
fn format_credits(language: Language, name: &str, value: &Value) -> Option<String> {
    if !name.ends_with(MICROS) {
        return None;
    }
    let credits = format::number(language, Micros(value.as_i64()?).rounded_down());
    Some(CREDITS.fill(language, &[&credits]))
}

/// Shortens ids that are a value, or entries of its list.
fn shorten_ids(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(shorten_id(text)),
        Value::Array(values) => values.iter().map(shorten_ids).collect(),
        other => other.clone(),
    }
}

/// Returns a row for each changed field, with its values as JSON.
pub(super) fn change_rows(page: &PageContext, changes: &str) -> Vec<Row> {
    let fields: Map<String, Value> = serde_json::from_str(changes).unwrap_or_default();
    fields
        .into_iter()
        .map(|(name, change)| {
            let before = value_cell(page, &name, change.get("before"));
            let after = value_cell(page, &name, change.get("after"));
            Row::new(vec![Cell::text(name), before, after])
        })
        .collect()
}

fn value_cell(page: &PageContext, name: &str, value: Option<&Value>) -> Cell {
    let Some(value) = value else { return Cell::default() };
    let credits = format_credits(page.language, name, value);
    Cell::text(value.to_string()).detail(credits.unwrap_or_default())
}

const CREDITS: Text = Text::new("{} credits", "{} Credits");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_formatted_by_field_and_shortened() {
        let format = |changes: &str| format_changes(Language::En, changes);

        let changes = r#"{"name":{"before":"Sales","after":"Sellers"},"size":{"after":3}}"#;
        assert_eq!(format(changes), r#"name: "Sales" → "Sellers"; size: – → 3"#);

        let long_changes = format!(r#"{{"a":{{"after":"{}"}}}}"#, "x".repeat(2 * VALUE_BYTES));
        assert!(format(&long_changes).ends_with("x…"));

        assert_eq!(format("other text"), "");
    }

    #[test]
    fn credits_and_ids_are_readable() {
        let micros = r#"{"topUpMicros":{"before":0,"after":1500000000}}"#;
        let ids = r#"{"groups":{"before":[],"after":["018f0000-0000-7000-8000-0000000000aa"]}}"#;

        let english = format_changes(Language::En, micros);
        let german = format_changes(Language::De, micros);

        assert_eq!(english, "topUp: 0 credits → 1,500 credits");
        assert_eq!(german, "topUp: 0 Credits → 1.500 Credits");
        let expected = r#"groups: [] → ["…0000000000aa"]"#;
        assert_eq!(format_changes(Language::En, ids), expected);
    }
}
