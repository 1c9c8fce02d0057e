//! JSON Schemas that tools give of their arguments and results.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

/// Maximum size of a schema.
const MAX_BYTES: usize = 32 * 1024;
/// Maximum number of values in a schema whose references are replaced by what they
/// refer to. It bounds the time of a check, and excludes recursion.
const MAX_EXPANDED: usize = 10_000;
/// Maximum nesting of a schema whose references are replaced.
const MAX_DEPTH: usize = 128;
/// Maximum number of steps for a regular expression of a schema.
const MAX_REGEX_STEPS: usize = 100_000;
/// Maximum length of the explanation of a violation.
const MAX_REASON_CHARS: usize = 300;

/// Returns whether a value is a schema that values can be checked against: an object
/// of limited size whose references stay within it and are not recursive.
pub(crate) fn is_usable(schema: &Value) -> bool {
    let is_bounded = schema.is_object()
        && schema.to_string().len() <= MAX_BYTES
        && is_expanded_within(schema, schema, &mut 0, 0);
    is_bounded && compile(schema).is_some()
}

/// Checks a value against a usable schema. The error explains the first violation,
/// for the model, without repeating the value.
pub(crate) fn validate(schema: &Value, value: &Value) -> Result<(), String> {
    let Some(validator) = compile(schema) else { return Err("The schema is invalid.".to_owned()) };
    validator.validate(value).map_err(|violation| {
        let reason = format!("{}: {}", violation.instance_path(), violation.masked());
        reason.trim_start_matches(": ").chars().take(MAX_REASON_CHARS).collect()
    })
}

fn compile(schema: &Value) -> Option<Validator> {
    let patterns = PatternOptions::fancy_regex().backtrack_limit(MAX_REGEX_STEPS);
    jsonschema::options().with_pattern_options(patterns).build(schema).ok()
}

/// Counts the values of `node` and of what it refers to.
fn is_expanded_within(root: &Value, node: &Value, count: &mut usize, depth: usize) -> bool {
    *count += 1;
    if *count > MAX_EXPANDED || depth > MAX_DEPTH {
        return false;
    }
    let mut is_within = |it: &Value| is_expanded_within(root, it, count, depth + 1);
    match node {
        Value::Array(items) => items.iter().all(is_within),
        Value::Object(members) => members.iter().all(|(key, it)| match (key.as_str(), it) {
            ("$ref", Value::String(target)) => target
                .strip_prefix('#')
                .and_then(|pointer| root.pointer(pointer))
                .is_some_and(&mut is_within),
            ("$dynamicRef" | "$recursiveRef", Value::String(_)) => false,
            // It would change what references are relative to.
            ("$id" | "id", Value::String(_)) => depth == 0,
            _ => is_within(it),
        }),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schemas_are_usable_within_limits() {
        let point = json!({ "type": "object", "properties": { "x": { "type": "number" } } });
        for usable in [
            json!({}),
            json!({ "type": "object", "properties": { "$ref": { "type": "string" } } }),
            json!({ "$id": "https://example.com/a", "$defs": { "point": point },
                "properties": { "from": { "$ref": "#/$defs/point" }, "to": { "$ref": "#/$defs/point" } } }),
        ] {
            assert!(is_usable(&usable), "{usable}");
        }
        for unusable in [
            json!(true),
            json!({ "type": "no such type" }),
            json!({ "properties": { "a": { "pattern": "(" } } }),
            json!({ "$ref": "https://example.com/schema" }),
            json!({ "$ref": "#/$defs/missing" }),
            json!({ "properties": { "child": { "$ref": "#" } } }),
            json!({ "properties": { "a": { "$id": "https://example.com/b" } } }),
            json!({ "description": "x".repeat(MAX_BYTES) }),
        ] {
            assert!(!is_usable(&unusable), "{unusable}");
        }
    }

    #[test]
    fn references_that_multiply_are_refused() {
        let level = |it: usize| {
            let next = json!({ "$ref": format!("#/$defs/{}", it + 1) });
            (it.to_string(), json!({ "allOf": [next, next] }))
        };
        let mut levels: serde_json::Map<_, _> = (0..40).map(level).collect();
        levels.insert("40".to_owned(), json!({ "type": "object" }));
        assert!(!is_usable(&json!({ "$defs": levels, "$ref": "#/$defs/0" })));
    }

    #[test]
    fn a_violation_is_explained_without_the_value() {
        let schema = json!({ "type": "object", "required": ["city"],
            "properties": { "city": { "type": "string" } } });
        assert_eq!(validate(&schema, &json!({ "city": "Bern" })), Ok(()));
        let reason = validate(&schema, &json!({ "city": 4711 })).unwrap_err();
        assert!(reason.starts_with("/city: ") && !reason.contains("4711"), "{reason}");
        let reason = validate(&schema, &json!({})).unwrap_err();
        assert!(reason.contains("city"), "{reason}");
    }

    #[test]
    fn an_expensive_regular_expression_ends() {
        let schema = json!({ "type": "string", "pattern": "^(?:(a+)+)\\1$" });
        assert!(validate(&schema, &json!("a".repeat(60) + "b")).is_err());
    }
}
