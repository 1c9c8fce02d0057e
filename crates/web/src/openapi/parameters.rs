//! Parameters of operations, in the path, in the query and in headers.

use actix_web::http::Method;
use serde_json::{Value, json};

use super::{CreditDocs, Schemas};
use crate::routes::{Parameter, ResponseDoc, Route, WireType};

/// Returns the parameters of a route: ids in the path, query parameters, and
/// headers of calls that cost credits.
pub(super) fn parameters(route: &Route, credits: &CreditDocs) -> Vec<Value> {
    let mut parameters: Vec<Value> = route
        .path
        .split('/')
        .filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| {
            json!({ "name": name, "in": "path", "required": true, "schema": id_schema(name) })
        })
        .collect();

    if let (Some(query), &Method::GET) = (route.docs.request, &route.method) {
        parameters.extend(query_parameters(query));
    }

    match route.docs.answer {
        ResponseDoc::Page(_) => parameters.extend(page_parameters()),
        ResponseDoc::Part(_, own_parameters) => {
            parameters.extend(own_parameters.iter().map(own_parameter));
        }
        _ => {}
    }

    if route.costs_credits() {
        parameters.extend(credits.headers.iter().cloned());
    }

    parameters
}

fn page_parameters() -> [Value; 2] {
    [
        json!({
            "name": "limit",
            "in": "query",
            "schema": { "type": "integer", "minimum": 1, "maximum": 200, "default": 50 },
        }),
        json!({
            "name": "cursor",
            "in": "query",
            "description": "`nextCursor` of the previous page.",
            "schema": { "type": "string" },
        }),
    ]
}

fn own_parameter(parameter: &Parameter) -> Value {
    json!({
        "name": parameter.name,
        "in": "query",
        "description": parameter.description,
        "schema": (parameter.schema)(),
    })
}

/// Returns the schema of an id in a path: devices choose their ids freely,
/// models are named by operators, and settings by their keys.
fn id_schema(name: &str) -> Value {
    match name {
        "deviceId" => json!({ "type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$" }),
        "model" | "key" => json!({ "type": "string" }),
        "number" => json!({ "type": "integer" }),
        _ => json!({ "type": "string", "format": "uuid" }),
    }
}

/// Returns the fields of a wire struct as query parameters.
fn query_parameters(query: WireType) -> Vec<Value> {
    let mut schemas = Schemas::new();
    let name = query(&mut schemas);
    let schema = schemas
        .into_iter()
        .find(|(schema_name, _)| *schema_name == name)
        .and_then(|(_, schema)| serde_json::to_value(schema).ok())
        .unwrap_or_default();
    let required_names = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required_names.is_some_and(|names| names.iter().any(|it| it == name));
    let properties = schema.get("properties").and_then(Value::as_object);

    properties
        .into_iter()
        .flatten()
        .map(|(name, schema)| query_parameter(name, schema, is_required(name)))
        .collect()
}

/// Returns a field of a wire struct as a query parameter.
fn query_parameter(name: &str, schema: &Value, required: bool) -> Value {
    let mut schema = schema.as_object().cloned().unwrap_or_default();
    let description = schema.remove("description");

    // A query parameter is omitted, never null.
    if let Some(kind) = schema.get_mut("type")
        && let Some([value_type, _null]) = kind.as_array().map(Vec::as_slice)
    {
        *kind = value_type.clone();
    }

    json!({
        "name": name,
        "in": "query",
        "description": description,
        "required": required,
        "schema": schema,
    })
}
