//! Parts that operations have in common: names, tags and errors.

use std::collections::BTreeSet;

use actix_web::http::Method;
use serde_json::{Map, Value, json};

use crate::Dialect;

/// Each group of operations, in the order in which they are shown.
const TAGS: [(&str, &str); 9] = [
    ("utility", "Health checks, metrics and capabilities."),
    ("auth", "Accounts, sign-in and account security."),
    ("sync", "Synchronisation of a user's devices."),
    ("ai", "Models and credits."),
    ("chats", "Stored chats."),
    ("e2ee", "Devices and keys of end-to-end encryption."),
    ("assignments", "Long tasks that are handed over and collected later."),
    ("knowledge", "Knowledge bases and their documents."),
    ("admin", "Administration, by a browser that is signed in to the console."),
];

/// Returns the list of these tags with their descriptions.
pub(super) fn tags(used: &BTreeSet<&str>) -> Value {
    TAGS.iter()
        .filter(|(name, _)| used.contains(name))
        .map(|(name, description)| json!({ "name": name, "description": description }))
        .collect()
}

/// Returns the base URL of the paths, which a server replaces by its public URL.
pub(super) fn servers() -> Value {
    json!([{ "url": "/", "description": "The server that this description comes from." }])
}

/// Returns the id of a route's operation, built from its method and path:
/// `deleteAuthSessionsBySessionId`. It is as stable as these are.
pub(super) fn operation_id(method: &Method, path: &str) -> String {
    let mut id = method.as_str().to_ascii_lowercase();
    for part in path.split('/') {
        let name = part.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
        id.push_str(if name.is_some() { "By" } else { "" });
        for word in name.unwrap_or(part).split(|it: char| !it.is_ascii_alphanumeric()) {
            let mut chars = word.chars();
            id.extend(chars.next().map(|it| it.to_ascii_uppercase()));
            id.push_str(chars.as_str());
        }
    }
    id
}

/// Adds the errors that any call of an operation can return.
///
/// OpenAI's clients get errors in a form of their own.
pub(super) fn add_refusals(responses: &mut Map<String, Value>, has_body: bool, dialect: Dialect) {
    for (status, name, description) in REFUSALS {
        if has_body || status != "408" {
            let response = if dialect == Dialect::OpenAi {
                let schema = json!({ "$ref": "#/components/schemas/OpenAiError" });
                json!({
                    "description": description,
                    "content": { "application/json": { "schema": schema } },
                })
            } else {
                json!({ "$ref": format!("#/components/responses/{name}") })
            };
            responses.entry(status).or_insert(response);
        }
    }
}

/// Adds to each response that it may be a page instead of JSON.
pub(super) fn add_pages(responses: &mut Map<String, Value>) {
    for response in responses.values_mut() {
        if let Some(content) = response.get_mut("content").and_then(Value::as_object_mut) {
            content.insert("text/html".to_owned(), json!({ "schema": { "type": "string" } }));
        }
    }
}

/// Returns the responses that operations refer to.
pub(super) fn responses() -> Value {
    let error = json!({
        "application/json": { "schema": { "$ref": "#/components/schemas/Error" } },
    });

    let responses = REFUSALS.map(|(status, name, description)| {
        let headers = match status {
            "405" => json!({ "Allow": { "schema": { "type": "string" } } }),
            "503" => json!({ "Retry-After": { "$ref": "#/components/headers/RetryAfter" } }),
            _ => json!({}),
        };
        let response = json!({ "description": description, "headers": headers, "content": error });
        (name.to_owned(), response)
    });

    Map::from_iter(responses).into()
}

const REFUSALS: [(&str, &str, &str); 4] = [
    ("405", "MethodNotAllowed", "The method isn't one of those in `Allow`."),
    ("408", "BodyTimeout", "The body wasn't received in time."),
    ("500", "InternalError", "Internal error; search the log for the `X-Request-Id`."),
    ("503", "Unavailable", "The server is overloaded, or its database is unavailable."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_named_after_its_method_and_path() {
        assert_eq!(operation_id(&Method::POST, "/auth/login/local"), "postAuthLoginLocal");
        assert_eq!(operation_id(&Method::GET, "/openapi/v1.json"), "getOpenapiV1Json");
        let with_id = operation_id(&Method::GET, "/api/e2ee/devices/{deviceId}/wrapped-umk");
        assert_eq!(with_id, "getApiE2eeDevicesByDeviceIdWrappedUmk");
    }
}
