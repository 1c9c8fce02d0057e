//! Members of JSON values.

use serde_json::Value;

/// The value at a JSON pointer; null where there is none.
pub(super) fn pointer_or_null<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

/// The text at a JSON pointer; empty where there is none.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    pointer_or_null(value, pointer).as_str().unwrap_or_default()
}

/// The object with one more member.
pub(super) fn with(mut object: Value, name: &str, value: Value) -> Value {
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
    object
}
