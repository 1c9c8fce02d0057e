//! Headers of calls to models, for OpenAPI.

use serde_json::{Value, json};

/// Returns the headers that name the mode and the persona.
pub(super) fn headers() -> [Value; 4] {
    let mode = json!({ "type": "string", "examples": ["assistant"] });
    let persona = json!({ "type": "string", "format": "uuid" });
    [
        header(
            "X-Service-Mode",
            "Mode: `optimize`, `assistant` or `research`, case-insensitive. It selects the \
             model of a request without `model`. Without a valid mode, the routes that optimise \
             and draft use `optimize`, and chats the server's default model.",
            &mode,
        ),
        header(
            "X-Pia-Mode",
            "Alias of `X-Service-Mode`, which takes precedence even if it is invalid.",
            &mode,
        ),
        header(
            "X-Service-Persona",
            "Id of the selected persona. An invalid id, or a persona that isn't assigned to the \
             caller's group, is ignored.",
            &persona,
        ),
        header(
            "X-Pia-Persona",
            "Alias of `X-Service-Persona`, which takes precedence even if it is invalid.",
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
