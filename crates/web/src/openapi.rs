//! OpenAPI document, generated from the route table.

mod common;
mod error_schemas;

use actix_web::http::Method;
use serde_json::{Map, Value, json};

use self::error_schemas::{error_schema, openai_error_schema};
use crate::dialect::Dialect;
use crate::examples::{Example, Examples};
use crate::routes::{
    AcceptedCredentials, Access, Licensing, OpenApiDocument, ProofCheck, RateLimit, ResponseDoc,
    Route, RouteTable, WireType,
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
            methods.insert(
                method,
                operation(route, examples.find(route), &credits, &mut wire_schemas),
            );
        }
    }

    let mut schemas: Map<String, Value> =
        wire_schemas.into_iter().map(|(name, it)| (name, json!(it))).collect();
    schemas.insert("Error".to_owned(), error_schema());
    schemas.insert("OpenAiError".to_owned(), openai_error_schema());
    schemas.extend(credits.schemas);
    schemas.sort_keys();
    let credit_examples =
        credits.examples.into_iter().map(|(name, it)| (name, json!({ "value": it })));
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
            "examples": credit_examples.collect::<Map<_, _>>(),
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

    let parameters = parameters_of(route, credits);
    if !parameters.is_empty() {
        operation.insert("parameters".to_owned(), parameters.into());
    }

    if let Some(request) = body_of(route) {
        let request_example = example.and_then(|it| it.request.as_ref());
        let content = json!({ "application/json": media(&request(schemas), request_example) });
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

/// Returns the parameters of a route: ids in the path, query parameters, and
/// headers of calls that cost credits.
fn parameters_of(route: &Route, credits: &CreditDocs) -> Vec<Value> {
    let ids = route.path.split('/').filter_map(|it| it.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Vec<Value> = ids
        .map(|name| {
            json!({ "name": name, "in": "path", "required": true, "schema": id_schema(name) })
        })
        .collect();

    if let (Some(query), &Method::GET) = (route.docs.request, &route.method) {
        parameters.extend(query_parameters(query));
    }

    if let ResponseDoc::Page(_) = route.docs.answer {
        let limit = json!({ "type": "integer", "minimum": 1, "maximum": 200, "default": 50 });
        parameters.push(json!({ "name": "limit", "in": "query", "schema": limit }));
        let cursor = json!({ "type": "string" });
        let text = "`nextCursor` of the previous page.";
        parameters.push(
            json!({ "name": "cursor", "in": "query", "description": text, "schema": cursor }),
        );
    }

    if let ResponseDoc::Part(_, parameters_of_page) = route.docs.answer {
        parameters.extend(parameters_of_page.iter().map(|it| {
            let name = it.name;
            let description = it.description;
            let schema = (it.schema)();
            json!({ "name": name, "in": "query", "description": description, "schema": schema })
        }));
    }

    if route.costs_credits() {
        parameters.extend(credits.headers.iter().cloned());
    }

    parameters
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

fn body_of(route: &Route) -> Option<WireType> {
    if route.method == Method::GET { None } else { route.docs.request }
}

/// Returns the fields of a wire struct as query parameters.
fn query_parameters(query: WireType) -> Vec<Value> {
    let mut schemas = Schemas::new();
    let name = query(&mut schemas);
    let schema = schemas
        .into_iter()
        .find(|(it, _)| *it == name)
        .and_then(|(_, it)| serde_json::to_value(it).ok())
        .unwrap_or_default();
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
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

fn responses(
    route: &Route,
    example: Option<&Value>,
    credits: &CreditDocs,
    schemas: &mut Schemas,
) -> Map<String, Value> {
    let mut responses = Map::new();
    let (status, content) = success(route.docs.answer, example, schemas, &mut responses);
    let mut response =
        Map::from_iter([("description".to_owned(), "The request succeeded.".into())]);
    if !content.is_null() {
        response.insert("content".to_owned(), content);
    }

    responses.insert(status.to_owned(), response.into());

    for (status, description) in refusals(route) {
        let mut response = Map::from_iter([("description".to_owned(), description.into())]);
        if status == 429 {
            let retry_after = json!({ "$ref": "#/components/headers/RetryAfter" });
            response.insert("headers".to_owned(), json!({ "Retry-After": retry_after }));
        }

        // 304 is not an error and has no body.
        if status != 304 {
            let body = error_media(route, status, credits);
            response.insert("content".to_owned(), json!({ "application/json": body }));
        }

        responses.entry(status.to_string()).or_insert(response.into());
    }

    if let ResponseDoc::JsonOrPage(_) = route.docs.answer {
        common::add_pages(&mut responses);
    }

    common::add_refusals(&mut responses, body_of(route).is_some(), Dialect::from_path(route.path));
    responses.sort_keys();

    responses
}

/// Returns status and content of the usual successful response. Adds the other
/// successful ones to `responses`.
fn success(
    documented: ResponseDoc,
    example: Option<&Value>,
    schemas: &mut Schemas,
    responses: &mut Map<String, Value>,
) -> (&'static str, Value) {
    match documented {
        ResponseDoc::Json(it)
        | ResponseDoc::JsonOrPage(it)
        | ResponseDoc::Page(it)
        | ResponseDoc::Part(it, _) => ("200", json_content(&media(&it(schemas), example))),
        ResponseDoc::Accepted(it) => ("202", json_content(&media(&it(schemas), example))),
        ResponseDoc::AcceptedOrUnchanged(it) => {
            let content = json_content(&media(&it(schemas), example));
            let unchanged = json!({ "description": "Nothing changed.", "content": &content });
            responses.insert("200".to_owned(), unchanged);
            ("202", content)
        }
        ResponseDoc::Created(it) => ("201", json_content(&media(&it(schemas), example))),
        ResponseDoc::List(it) => ("200", json_content(&array(&it(schemas), example))),
        ResponseDoc::Stored(it) => {
            let content = json!({ "application/json": media(&it(schemas), example) });
            for (status, description) in [
                ("201", "The chat was created."),
                ("409", "The stored chat is newer, and is returned."),
            ] {
                let response = json!({ "description": description, "content": &content });
                responses.insert(status.to_owned(), response);
            }
            ("200", content)
        }
        ResponseDoc::JsonOrEvents(it) => (
            "200",
            json!({
                "application/json": media(&it(schemas), example),
                "text/event-stream": { "schema": { "type": "string" } },
            }),
        ),
        ResponseDoc::JsonOrRedirect(it) => {
            responses
                .insert("302".to_owned(), json!({ "description": "The browser is redirected." }));
            ("200", json!({ "application/json": media(&it(schemas), example) }))
        }
        ResponseDoc::Redirect => ("302", Value::Null),
        ResponseDoc::Other(kind) => ("200", json!({ kind: { "schema": { "type": "string" } } })),
        ResponseDoc::Nothing => ("204", Value::Null),
    }
}

/// Returns the refusals of the gates, and after them those of the handler.
fn refusals(route: &Route) -> Vec<(u16, &'static str)> {
    let mut refusals = route.docs.refusals.to_vec();
    if body_of(route).is_some() {
        refusals.push((400, "The body is malformed or invalid; see `errors`."));
        refusals.push((413, "The body is longer than `x-body-limit`."));
        refusals.push((415, "The body isn't JSON."));
    }

    if let ResponseDoc::Part(..) = route.docs.answer {
        refusals.push((400, "The query is invalid; see `errors`."));
    }

    if let ResponseDoc::Page(_) = route.docs.answer {
        refusals.push((400, "`limit` or `cursor` is invalid; see `errors`."));
    }

    match route.access {
        Access::Anonymous => {}
        Access::Service => refusals.push((401, "The service key is missing or wrong.")),
        _ => refusals.push((401, "The access token is missing, invalid or expired.")),
    }

    if route.proof_check == ProofCheck::AtGate {
        refusals
            .push((403, "There is no proof of the last ten minutes: `fresh_sign_in_required`."));
    }

    if route.feature.is_some() || route.licensing != Licensing::NotNeeded {
        refusals.push((403, "The licence or the account doesn't allow it."));
    }

    if route.rate_limit != RateLimit::Unlimited {
        refusals.push((429, "Too many requests; retry after `Retry-After` seconds."));
    }

    refusals
}

/// Returns the media type object of an error with this status.
fn error_media(route: &Route, status: u16, credits: &CreditDocs) -> Value {
    if Dialect::from_path(route.path) == Dialect::OpenAi {
        media("OpenAiError", None)
    } else if status == 429 && route.costs_credits() {
        credits.refusal.clone()
    } else {
        media("Error", None)
    }
}

fn retry_after() -> Value {
    let description = "In how many seconds to come again.";
    json!({ "description": description, "schema": { "type": "integer", "minimum": 1 } })
}

fn json_content(media: &Value) -> Value {
    json!({ "application/json": media })
}

/// Returns the media type object of an array of a schema.
fn array(name: &str, example: Option<&Value>) -> Value {
    let mut array_media = media(name, example);
    if let Some(schema) = array_media.get_mut("schema") {
        *schema = json!({ "type": "array", "items": schema.take() });
    }
    array_media
}

/// Returns a media type object of a schema, with an example.
fn media(name: &str, example: Option<&Value>) -> Value {
    let schema = json!({ "$ref": format!("#/components/schemas/{name}") });
    match example {
        Some(example) => json!({ "schema": schema, "example": example }),
        None => json!({ "schema": schema }),
    }
}
