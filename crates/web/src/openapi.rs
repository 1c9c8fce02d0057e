//! OpenAPI document, generated from the route table.
//!
//! `openapi` walks the rows of one document; `operation` describes a row, with
//! `parameters.rs` and `responses.rs`. Schemas of wire structs are collected on the
//! way: a row names the function (`WireType`) that adds its struct and returns the
//! name to refer to.

mod common;
mod error_schemas;
mod parameters;
mod responses;

use actix_web::http::Method;
use serde_json::{Map, Value, json};

use self::error_schemas::{error_schema, openai_error_schema};
use self::parameters::parameters;
use self::responses::responses;
use crate::examples::{Example, Examples};
use crate::routes::{
    AcceptedCredentials, Access, OpenApiDocument, RateLimit, Route, RouteTable, WireType,
};

/// Parts of the document that calls which cost credits have in common.
#[derive(Debug)]
pub struct CreditDocs {
    /// Headers that such a call may send, as parameter objects.
    pub headers: Vec<Value>,
    /// Media type object of the body of a 429.
    pub refusal: Value,
    /// Schemas that `refusal` refers to, by name.
    pub schemas: Vec<(String, Value)>,
    /// Examples that `refusal` refers to, by name.
    pub examples: Vec<(String, Value)>,
}

/// Builds the document from the table that the gates read, so it cannot
/// contradict them; only summaries, wire structs and examples come from
/// elsewhere.
pub fn openapi(
    table: &RouteTable,
    document: OpenApiDocument,
    version: &str,
    examples: &Examples,
    credits: CreditDocs,
) -> Value {
    let mut wire_schemas = Vec::new();
    let mut paths = Map::new();
    let routes: Vec<&Route> = table.iter().filter(|it| it.document == document).collect();
    let tags = routes.iter().map(|it| it.docs.tag).collect();

    for route in routes {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Some(methods) = path.as_object_mut() {
            let method = route.method.as_str().to_ascii_lowercase();
            let example = examples.find(route);
            methods.insert(method, operation(route, example, &credits, &mut wire_schemas));
        }
    }

    let mut schemas: Map<String, Value> =
        wire_schemas.into_iter().map(|(name, schema)| (name, json!(schema))).collect();
    schemas.insert("Error".to_owned(), error_schema());
    schemas.insert("OpenAiError".to_owned(), openai_error_schema());
    schemas.extend(credits.schemas);
    schemas.sort_keys();

    let credit_examples: Map<String, Value> = credits
        .examples
        .into_iter()
        .map(|(name, example)| (name, json!({ "value": example })))
        .collect();

    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "pia-server",
            "version": version,
            "description": "Absent values are omitted, never null; enums are integers.",
        },
        "servers": common::servers(),
        "tags": common::tags(&tags),
        "paths": paths,
        "components": {
            "responses": common::responses(),
            "schemas": schemas,
            "examples": credit_examples,
            "headers": { "RetryAfter": retry_after() },
            "securitySchemes": security_schemes(document),
        },
    })
}

type Schemas = Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>;

fn operation(
    route: &Route,
    example: Option<&Example>,
    credits: &CreditDocs,
    schemas: &mut Schemas,
) -> Value {
    let mut operation = Map::from_iter([
        ("operationId".to_owned(), common::operation_id(&route.method, route.path).into()),
        ("tags".to_owned(), json!([route.docs.tag])),
        ("summary".to_owned(), route.docs.summary.into()),
    ]);

    let parameter_list = parameters(route, credits);
    if !parameter_list.is_empty() {
        operation.insert("parameters".to_owned(), parameter_list.into());
    }

    if let Some(wire_type) = body_of(route) {
        let request_example = example.and_then(|it| it.request.as_ref());
        let content = json!({ "application/json": media(&wire_type(schemas), request_example) });
        let body = json!({ "required": true, "content": content });
        operation.insert("requestBody".to_owned(), body);
        operation.insert("x-body-limit".to_owned(), route.body_limit.into());
    }

    if route.access != Access::Anonymous {
        operation.insert("security".to_owned(), security(route.credentials));
    }

    if let Some(feature) = route.feature {
        operation.insert("x-feature".to_owned(), feature.name().into());
    }

    if let RateLimit::AtGate(budget) | RateLimit::InHandler(budget) = route.rate_limit {
        operation.insert("x-rate-budget".to_owned(), budget.name().into());
    }

    let response_example = example.and_then(|it| it.response.as_ref());
    operation.insert(
        "responses".to_owned(),
        responses(route, response_example, credits, schemas).into(),
    );

    operation.into()
}

fn security_schemes(document: OpenApiDocument) -> Value {
    match document {
        OpenApiDocument::Public => json!({
            "bearer": { "type": "http", "scheme": "bearer", "bearerFormat": "JWT" },
            "apiKey": { "type": "http", "scheme": "bearer", "bearerFormat": "pia_…" },
            "serviceKey": { "type": "apiKey", "in": "header", "name": "X-Service-Key" },
        }),
        OpenApiDocument::Admin => json!({
            "console": { "type": "apiKey", "in": "cookie", "name": "__Host-pia_console" },
        }),
        OpenApiDocument::Own => json!({}),
    }
}

fn security(credentials: AcceptedCredentials) -> Value {
    match credentials {
        AcceptedCredentials::Session => json!([{ "bearer": [] }]),
        AcceptedCredentials::SessionOrApiKey => json!([{ "bearer": [] }, { "apiKey": [] }]),
        AcceptedCredentials::ConsoleCookie | AcceptedCredentials::BrowserCookie => {
            json!([{ "console": [] }])
        }
        AcceptedCredentials::ScimToken | AcceptedCredentials::PodToken => json!([]),
        AcceptedCredentials::ServiceKey => json!([{ "serviceKey": [] }]),
    }
}

/// Returns the type of a route's body; the request of a `GET` is its query.
fn body_of(route: &Route) -> Option<WireType> {
    if route.method == Method::GET { None } else { route.docs.request }
}

fn retry_after() -> Value {
    let description = "In how many seconds to come again.";
    json!({ "description": description, "schema": { "type": "integer", "minimum": 1 } })
}

/// Returns a media type object of a schema, with an example.
fn media(name: &str, example: Option<&Value>) -> Value {
    let schema = json!({ "$ref": format!("#/components/schemas/{name}") });
    match example {
        Some(example) => json!({ "schema": schema, "example": example }),
        None => json!({ "schema": schema }),
    }
}
