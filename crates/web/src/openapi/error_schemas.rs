//! Schemas of errors.

use serde_json::{Value, json};

/// Returns the schema of an error for OpenAI's clients.
pub(super) fn openai_error_schema() -> Value {
    json!({
        "type": "object",
        "description": "Error in OpenAI's format.",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["message", "type", "code", "param"],
                "properties": {
                    "message": { "type": "string", "description": "What it is, for people." },
                    "type": { "type": "string", "description": "Of which kind it is." },
                    "code": { "type": "string", "description": "Error code." },
                    "param": {
                        "type": ["string", "null"],
                        "description": "Which part of the request is at fault.",
                    },
                },
            },
        },
    })
}

/// Returns the schema of an error.
pub(super) fn error_schema() -> Value {
    json!({
        "type": "object",
        "required": ["error", "message"],
        "properties": {
            "error": { "type": "string", "description": "Error code." },
            "message": { "type": "string", "description": "Message for people." },
            "errors": {
                "type": "array",
                "description": "Invalid fields, with status 400.",
                "items": {
                    "type": "object",
                    "required": ["field", "code", "message"],
                    "properties": {
                        "field": { "type": "string" },
                        "code": { "type": "string" },
                        "message": { "type": "string" },
                    },
                },
            },
        },
    })
}
