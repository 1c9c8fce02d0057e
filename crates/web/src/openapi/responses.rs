//! Responses of operations: successful ones and refusals.

use actix_web::http::Method;
use serde_json::{Map, Value, json};

use super::{CreditDocs, Schemas, body_of, common, media};
use crate::dialect::Dialect;
use crate::routes::{Access, Licensing, ProofCheck, RateLimit, ResponseDoc, Route, WireType};

/// Returns the responses of a route, by status: successful ones, then refusals.
pub(super) fn responses(
    route: &Route,
    example: Option<&Value>,
    credits: &CreditDocs,
    schemas: &mut Schemas,
) -> Map<String, Value> {
    let mut responses = Map::new();
    let (success_status, content) = success(route.docs.answer, example, schemas, &mut responses);
    let mut response =
        Map::from_iter([("description".to_owned(), "The request succeeded.".into())]);
    if !content.is_null() {
        response.insert("content".to_owned(), content);
    }

    responses.insert(success_status.to_owned(), response.into());

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
        ResponseDoc::Json(body) | ResponseDoc::Page(body) | ResponseDoc::Part(body, _) => {
            ("200", json_content(body, example, schemas))
        }
        ResponseDoc::Accepted(body) => ("202", json_content(body, example, schemas)),
        ResponseDoc::AcceptedOrUnchanged(body) => {
            let content = json_content(body, example, schemas);
            let unchanged = json!({ "description": "Nothing changed.", "content": &content });
            responses.insert("200".to_owned(), unchanged);
            ("202", content)
        }
        ResponseDoc::Created(body) => ("201", json_content(body, example, schemas)),
        ResponseDoc::List(item) => {
            let array = array_media(&item(schemas), example);
            ("200", json!({ "application/json": array }))
        }
        ResponseDoc::Stored(body) => {
            let content = json_content(body, example, schemas);
            for (status, description) in [
                ("201", "The chat was created."),
                ("409", "The stored chat is newer, and is returned."),
            ] {
                let response = json!({ "description": description, "content": &content });
                responses.insert(status.to_owned(), response);
            }
            ("200", content)
        }
        ResponseDoc::JsonOrEvents(body) => {
            let content = json!({
                "application/json": media(&body(schemas), example),
                "text/event-stream": { "schema": { "type": "string" } },
            });
            ("200", content)
        }
        ResponseDoc::JsonOrRedirect(body) | ResponseDoc::JsonOrPage(body) => {
            let redirect = json!({ "description": "The browser is redirected." });
            responses.insert("302".to_owned(), redirect);
            ("200", json_content(body, example, schemas))
        }
        ResponseDoc::Redirect => ("302", Value::Null),
        ResponseDoc::Other(media_type) => {
            ("200", json!({ media_type: { "schema": { "type": "string" } } }))
        }
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

    let has_query = route.method == Method::GET && route.docs.request.is_some();
    if has_query || matches!(route.docs.answer, ResponseDoc::Part(..)) {
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
        return media("OpenAiError", None);
    }
    if status == 429 && route.costs_credits() {
        return credits.refusal.clone();
    }
    media("Error", None)
}

/// Returns the content of a response in JSON.
fn json_content(body: WireType, example: Option<&Value>, schemas: &mut Schemas) -> Value {
    json!({ "application/json": media(&body(schemas), example) })
}

/// Returns the media type object of an array of a schema.
fn array_media(name: &str, example: Option<&Value>) -> Value {
    let mut array = media(name, example);
    if let Some(schema) = array.get_mut("schema") {
        *schema = json!({ "type": "array", "items": schema.take() });
    }
    array
}
