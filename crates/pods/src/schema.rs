//! JSON Schemas of the arguments and results of tools.
//!
//! Schemas come from pods, which the server does not trust. `Bounds` measures a
//! schema with its references replaced, before it is compiled: one that is
//! recursive, too large then, or has a pattern without a bound on its time, is
//! accepted, but no value is checked against it. Compiled schemas are cached by
//! their text; a full cache is emptied as a whole.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

/// Maximum size of a schema, in bytes of JSON.
const MAX_BYTES: usize = 32 * 1024;
/// Maximum number of values in a schema whose references are replaced by what they
/// refer to, beyond which values are not checked against it.
const MAX_EXPANDED: usize = 10_000;
/// Maximum number of values of a schema times those of a value that is checked.
const MAX_CHECKS: usize = 20_000_000;
/// Maximum number of regular expressions of a schema.
const MAX_PATTERNS: usize = 50;
/// Maximum length of a regular expression, in bytes.
const MAX_PATTERN_BYTES: usize = 500;
/// Maximum size of a compiled regular expression, in bytes.
const MAX_COMPILED_BYTES: usize = 256 * 1024;
/// Maximum nesting of a schema whose references are replaced.
const MAX_DEPTH: usize = 128;
/// Maximum size of all schemas that stay compiled, in values.
const MAX_COMPILED: usize = 500_000;
/// Size of a compiled regular expression, in values.
const PATTERN_SIZE: usize = 2_500;
/// Maximum length of the explanation of a violation.
const MAX_REASON_CHARS: usize = 300;

/// Returns whether a value is a schema of limited size, and an object.
pub(crate) fn is_schema(schema: &Value) -> bool {
    let is_small = schema.is_object() && schema.to_string().len() <= MAX_BYTES;
    is_small && (Bounds::of(schema).is_none() || compile(schema).is_some())
}

/// Schemas that values were checked against, compiled, by their text.
#[derive(Default)]
pub(crate) struct Schemas(Mutex<CompiledSchemas>);

#[derive(Default)]
struct CompiledSchemas {
    by_text: HashMap<String, Arc<CompiledSchema>>,
    size: usize,
}

struct CompiledSchema {
    /// Size; `None` if values are not checked.
    bounds: Option<Bounds>,
    /// `None` if the schema is invalid.
    validator: Option<Validator>,
}

impl Schemas {
    /// Checks a value against a schema, unless that is recursive, refers to another one
    /// or would take long. The error explains the first violation, for the model,
    /// without repeating the value.
    pub(crate) fn validate(&self, schema: &Value, value: &Value) -> Result<(), String> {
        let compiled = self.compiled(schema);
        let checks = compiled.bounds.as_ref().map(|it| it.values.saturating_mul(size(value)));
        if checks.is_none_or(|it| it > MAX_CHECKS) {
            return Ok(());
        }
        let Some(validator) = &compiled.validator else {
            return Err("The schema is invalid.".to_owned());
        };
        validator.validate(value).map_err(|violation| {
            let reason = format!("{}: {}", violation.instance_path(), violation.masked());
            reason.trim_start_matches(": ").chars().take(MAX_REASON_CHARS).collect()
        })
    }

    /// Returns a schema that was compiled before, or compiles it.
    fn compiled(&self, schema: &Value) -> Arc<CompiledSchema> {
        let text = schema.to_string();
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(compiled) = lock().by_text.get(&text) {
            return Arc::clone(compiled);
        }

        // Compiled without the lock: two callers may compile one schema at once.
        let bounds = Bounds::of(schema);
        let validator = bounds.as_ref().and_then(|_| compile(schema));
        let size = bounds.as_ref().map_or(1, |it| it.values + it.patterns * PATTERN_SIZE);
        let compiled = Arc::new(CompiledSchema { bounds, validator });
        let mut schemas = lock();
        if schemas.size + size > MAX_COMPILED {
            *schemas = CompiledSchemas::default();
        }

        if schemas.by_text.insert(text, Arc::clone(&compiled)).is_none() {
            schemas.size += size;
        }

        compiled
    }
}

fn compile(schema: &Value) -> Option<Validator> {
    let patterns =
        PatternOptions::regex().size_limit(MAX_COMPILED_BYTES).dfa_size_limit(MAX_COMPILED_BYTES);
    jsonschema::options().with_pattern_options(patterns).build(schema).ok()
}

/// Returns the number of values within a value, which counts itself.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

/// Size of a schema whose references are replaced by what they refer to.
#[derive(Debug, Default)]
struct Bounds {
    values: usize,
    patterns: usize,
}

impl Bounds {
    /// Returns the size of a schema; `None` if it has none, or is too large.
    fn of(schema: &Value) -> Option<Self> {
        let mut bounds = Self::default();
        bounds.add(schema, schema, 0).then_some(bounds)
    }

    /// Adds the values of `node` and of what it refers to. Returns false if that is not
    /// possible.
    fn add(&mut self, root: &Value, node: &Value, depth: usize) -> bool {
        self.values += 1;
        if self.values > MAX_EXPANDED || depth > MAX_DEPTH {
            return false;
        }

        match node {
            Value::Array(items) => items.iter().all(|it| self.add(root, it, depth + 1)),
            Value::Object(members) => {
                members.iter().all(|(key, value)| self.add_member(root, key, value, depth))
            }
            _ => true,
        }
    }

    fn add_member(&mut self, root: &Value, key: &str, value: &Value, depth: usize) -> bool {
        match (key, value) {
            // Escapes of URLs would be decoded.
            ("$ref", Value::String(target)) => target
                .strip_prefix('#')
                .filter(|pointer| !pointer.contains('%'))
                .and_then(|pointer| root.pointer(pointer))
                .is_some_and(|it| self.add(root, it, depth + 1)),
            ("$dynamicRef" | "$recursiveRef", Value::String(_)) => false,
            // An inner id would change the base of references.
            ("$id" | "id", Value::String(_)) => depth == 0,
            ("pattern", Value::String(pattern)) => self.add_pattern(pattern),
            ("patternProperties", Value::Object(patterns)) => {
                patterns.keys().all(|it| self.add_pattern(it)) && self.add(root, value, depth + 1)
            }
            _ => self.add(root, value, depth + 1),
        }
    }

    /// Adds a regular expression. Returns false if it is long, or would be matched by
    /// trying, whose time has no bound.
    fn add_pattern(&mut self, pattern: &str) -> bool {
        self.patterns += 1;
        let looks_around = ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|it| pattern.contains(it));
        let refers_back = (1..=9).any(|it| pattern.contains(&format!("\\{it}")));
        let is_short = pattern.len() <= MAX_PATTERN_BYTES && self.patterns <= MAX_PATTERNS;
        is_short && !looks_around && !refers_back && !pattern.contains("\\k<")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn validate(schema: &Value, value: &Value) -> Result<(), String> {
        Schemas::default().validate(schema, value)
    }

    #[test]
    fn schemas_are_compiled_once_and_take_limited_memory() {
        let schemas = Schemas::default();
        let schema = |number: usize| json!({ "minimum": number, "pattern": "^a$" });
        let first = schemas.compiled(&schema(0));
        assert!(Arc::ptr_eq(&first, &schemas.compiled(&schema(0))));
        assert_eq!(schemas.validate(&schema(3), &json!(3)), Ok(()));
        assert!(schemas.validate(&schema(4), &json!(3)).is_err());
        for number in 0..MAX_COMPILED / PATTERN_SIZE {
            schemas.compiled(&schema(number));
            let held = schemas.0.lock().unwrap();
            assert!(held.size <= MAX_COMPILED && held.by_text.len() <= 200);
        }
        assert!(!Arc::ptr_eq(&first, &schemas.compiled(&schema(0))));
    }

    #[test]
    fn malformed_schemas_are_refused() {
        let point = json!({ "type": "object", "properties": { "x": { "type": "number" } } });
        for schema in [
            json!({}),
            json!({ "properties": { "child": { "$ref": "#" } } }),
            json!({ "$ref": "https://example.com/schema" }),
            json!({ "type": "object", "properties": { "$ref": { "type": "string" } } }),
            json!({ "$id": "https://example.com/a", "$defs": { "point": point },
                "properties": { "from": { "$ref": "#/$defs/point" }, "to": { "$ref": "#/$defs/point" } } }),
        ] {
            assert!(is_schema(&schema), "{schema}");
        }
        for other in [
            json!(true),
            json!({ "type": "no such type" }),
            json!({ "properties": { "a": { "pattern": "(" } } }),
            json!({ "description": "x".repeat(MAX_BYTES) }),
        ] {
            assert!(!is_schema(&other), "{other}");
        }
    }

    #[test]
    fn schemas_without_bounds_are_not_checked() {
        let level = |it: usize| {
            let next = json!({ "$ref": format!("#/$defs/{}", it + 1) });
            (it.to_string(), json!({ "allOf": [next, next] }))
        };
        let mut levels: serde_json::Map<_, _> = (0..40).map(level).collect();
        levels.insert("40".to_owned(), json!({ "type": "object" }));
        for schema in [
            json!({ "$defs": levels, "$ref": "#/$defs/0" }),
            json!({ "$ref": "#/$defs/missing" }),
            json!({ "properties": { "child": { "$ref": "#" } } }),
            json!({ "properties": { "a": { "$id": "https://example.com/b" } } }),
            json!({ "properties": { "a": { "$dynamicRef": "#b" } } }),
            json!({ "$ref": "#/%24defs/1", "%24defs": { "1": {} }, "$defs": { "1": false } }),
            json!({ "pattern": "^(?=a)" }),
            json!({ "pattern": "^(a+)\\1$" }),
            json!({ "patternProperties": { "(?<!a)b": false } }),
            json!({ "type": "string", "pattern": "a".repeat(MAX_PATTERN_BYTES + 1) }),
        ] {
            assert_eq!(validate(&schema, &json!(1)), Ok(()), "{schema}");
        }
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
    fn a_check_that_would_take_long_is_left_out() {
        let variants: Vec<_> = (0..900).map(|it| json!({ "const": it })).collect();
        let schema = json!({ "items": { "anyOf": variants } });
        assert!(validate(&schema, &json!(["x"])).is_err());
        assert_eq!(validate(&schema, &json!(vec!["x"; 30_000])), Ok(()));
    }

    #[test]
    fn a_regular_expression_that_expands_is_refused() {
        let nested = json!({ "pattern": "((a{1,100}){100}){100}" });
        assert!(!is_schema(&nested));
        let plain = json!({ "type": "string", "pattern": "^[a-z]{2,10}-\\d+$" });
        assert!(is_schema(&plain));
        assert!(validate(&plain, &json!("no number")).is_err());
        assert_eq!(validate(&plain, &json!("ab-12")), Ok(()));
    }
}
