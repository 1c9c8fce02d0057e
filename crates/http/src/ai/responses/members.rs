//! Access to fields of JSON values.

use serde_json::Value;

/// Returns the value at a JSON pointer, or null.
pub(super) fn pointer_or_null<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

/// Returns the text at a JSON pointer, or an empty one.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    pointer_or_null(value, pointer).as_str().unwrap_or_default()
}

/// Returns the object with one more field.
pub(super) fn with(mut object: Value, name: &str, value: Value) -> Value {
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
    object
}
