//! Headers of calls to models, for OpenAPI.

use serde_json::{Value, json};

/// Returns the headers that name the mode and the persona.
pub(super) fn headers() -> [Value; 4] {
    let mode = json!({ "type": "string", "examples": ["assistant"] });
    let persona = json!({ "type": "string", "format": "uuid" });
    [
        header(
            "X-Service-Mode",
            "For what it is: `optimize`, `assistant` or `research`, in any case. Chooses the model \
             where none is named. Absent or anything else: `optimize` on the routes that optimise \
             and draft, and the server's default model for a chat.",
            &mode,
        ),
        header(
            "X-Pia-Mode",
            "The same, as the desktop client calls it. Not read where `X-Service-Mode` says \
             something, be it nothing that is known.",
            &mode,
        ),
        header(
            "X-Service-Persona",
            "The id of the persona that was chosen. One that is not granted to the caller's group, \
             and what is no id, counts as none.",
            &persona,
        ),
        header(
            "X-Pia-Persona",
            "The same, as the desktop client calls it. Not read where `X-Service-Persona` says \
             something, be it no id.",
            &persona,
        ),
    ]
}

fn header(name: &str, description: &str, schema: &Value) -> Value {
    json!({
        "name": name, "in": "header", "required": false, "description": description,
        "schema": schema,
    })
}
