//! Indices of the tool calls of a stream.
//!
//! Clients join the parts of a call by its index, and some fail without one.

use serde_json::{Map, Value};

use crate::tools::calls::{MAX_CALL_KEY_BYTES, MAX_CALLS};

/// Indices of the tool calls so far.
#[derive(Debug, Default)]
pub(crate) struct CallIndices {
    /// Ids by index; empty for a call without one.
    ids: Vec<String>,
    /// Set if there were more calls, or longer ids, than are permitted.
    exceeds_limit: bool,
}

impl CallIndices {
    /// Returns whether there were more calls, or longer ids, than are permitted.
    pub(crate) fn exceeds_limit(&self) -> bool {
        self.exceeds_limit
    }

    /// Sets the missing indices of the tool calls of a delta. Returns whether any was
    /// missing.
    pub(crate) fn set_missing(&mut self, delta: &mut Map<String, Value>) -> bool {
        let mut is_changed = false;
        let calls = delta.get_mut("tool_calls").and_then(Value::as_array_mut);
        for call in calls.into_iter().flatten().filter_map(Value::as_object_mut) {
            let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
            if let Some(index) = call.get("index").and_then(Value::as_u64) {
                self.record(index, id);
                continue;
            }

            let name = call.get("function").and_then(|it| it.get("name")?.as_str());
            let index = self.index_of(id, name.unwrap_or_default());
            call.insert("index".to_owned(), Value::from(index));
            is_changed = true;
        }
        is_changed
    }

    /// Records a call that has an index.
    fn record(&mut self, index: u64, id: &str) {
        match usize::try_from(index) {
            Ok(index) if index < MAX_CALLS => {
                if index == self.ids.len() {
                    self.begin(id);
                }
            }
            _ => self.exceeds_limit = true,
        }
    }

    /// Returns the index of a call by its id. A part without id and name continues the
    /// latest call; any other that is not known begins one.
    fn index_of(&mut self, id: &str, name: &str) -> usize {
        let known_index = if id.is_empty() && name.is_empty() {
            self.ids.len().checked_sub(1)
        } else {
            self.ids.iter().position(|it| !id.is_empty() && it == id)
        };
        known_index.unwrap_or_else(|| self.begin(id))
    }

    /// Adds a call, unless it is beyond the limits, and returns its index.
    fn begin(&mut self, id: &str) -> usize {
        let index = self.ids.len();
        if index < MAX_CALLS && id.len() <= MAX_CALL_KEY_BYTES {
            self.ids.push(id.to_owned());
        } else {
            self.exceeds_limit = true;
        }
        index
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns the indices of the calls of several deltas.
    fn indices(deltas: &[Value]) -> Vec<u64> {
        let mut call_indices = CallIndices::default();
        let mut indices = Vec::new();
        for calls in deltas {
            let mut delta = Map::new();
            delta.insert("tool_calls".to_owned(), calls.clone());
            call_indices.set_missing(&mut delta);
            let calls = delta["tool_calls"].as_array().unwrap();
            indices.extend(calls.iter().map(|it| it["index"].as_u64().unwrap()));
        }
        indices
    }

    fn part(arguments: &str) -> Value {
        json!([{ "function": { "arguments": arguments } }])
    }

    #[test]
    fn calls_are_numbered_by_their_ids() {
        let start = |id: &str| json!([{ "id": id, "function": { "name": "f" } }]);

        assert_eq!(indices(&[start("a"), part("{"), start("b"), part("{}")]), [0, 0, 1, 1]);
        assert_eq!(indices(&[start("a"), start("b"), start("a")]), [0, 1, 0]);
        assert_eq!(indices(&[json!([{ "id": "a" }, { "id": "b", "index": null }])]), [0, 1]);
        assert_eq!(indices(&[part("{"), part("}")]), [0, 0]);
    }

    #[test]
    fn a_name_begins_a_call_without_an_id() {
        let call = json!({ "id": "", "function": { "name": "f", "arguments": "{}" } });

        assert_eq!(indices(&[json!([call, call]), json!([call])]), [0, 1, 2]);
    }

    #[test]
    fn the_number_of_calls_is_limited() {
        let exceeds_limit = |calls: Value| {
            let mut call_indices = CallIndices::default();
            let mut delta = Map::new();
            delta.insert("tool_calls".to_owned(), calls);
            call_indices.set_missing(&mut delta);
            call_indices.exceeds_limit()
        };
        let calls = |number: usize| {
            let calls: Vec<Value> = (0..number).map(|it| json!({ "id": it.to_string() })).collect();
            Value::from(calls)
        };

        assert!(!exceeds_limit(calls(MAX_CALLS)));
        assert!(exceeds_limit(calls(MAX_CALLS + 1)));
        assert!(!exceeds_limit(json!([{ "index": MAX_CALLS - 1 }])));
        assert!(exceeds_limit(json!([{ "index": MAX_CALLS }])));
        assert!(exceeds_limit(json!([{ "id": "x".repeat(MAX_CALL_KEY_BYTES + 1) }])));
    }

    #[test]
    fn calls_with_an_index_count() {
        let first_start = json!([{ "index": 0, "id": "a" }]);
        let second_start = json!([{ "index": 1, "id": "b" }]);

        assert_eq!(
            indices(&[first_start.clone(), first_start, second_start, part("{}")]),
            [0, 0, 1, 1]
        );
    }
}
