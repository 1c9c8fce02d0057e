//! `/openapi/v1.json`: the OpenAPI document.

mod credits;
mod model_headers;

use actix_web::http::StatusCode;
use actix_web::web::{Data, Json};
use pia_policy::Feature;
use pia_web::{ApiError, CreditDocs, Gates, OpenApiDocument, RouteTable};
use serde_json::Value;

use crate::{Api, examples};

/// Returns the document, or 404 as for an unknown path if it is disabled. The
/// managed service never publishes it.
pub(crate) async fn description(
    api: Data<Api>,
    gates: Data<Gates>,
) -> Result<Json<Value>, ApiError> {
    let managed = gates.licence.get().includes(Feature::ManagedCloud, gates.clock.now());
    if managed || !*api.openapi.get() {
        let message = "No such path.";
        return Err(ApiError::refused(StatusCode::NOT_FOUND, "not_found", message));
    }
    let document = document().map_err(ApiError::internal)?;
    Ok(Json(with_public_url(document, &api)))
}

/// Names the public URL of this server, which paths are relative to.
pub(crate) fn with_public_url(mut document: Value, api: &Api) -> Value {
    if let Some(url) = document.pointer_mut("/servers/0/url") {
        *url = api.browsers.public_url().into();
    }
    document
}

/// Returns the document of all public routes, except for pages.
pub fn document() -> Result<Value, serde_json::Error> {
    build_document(OpenApiDocument::Public)
}

/// Returns the document of the admin routes.
pub fn admin_document() -> Result<Value, serde_json::Error> {
    build_document(OpenApiDocument::Admin)
}

fn build_document(document: OpenApiDocument) -> Result<Value, serde_json::Error> {
    let table = RouteTable::new(crate::routes());
    let route_examples = examples()?;
    let version = env!("CARGO_PKG_VERSION");
    Ok(pia_web::openapi(&table, document, version, &route_examples, credit_docs()))
}

fn credit_docs() -> CreditDocs {
    CreditDocs {
        headers: model_headers::headers().into(),
        refusal: credits::media(),
        schemas: credits::schemas().into(),
        examples: credits::examples().map(|(name, it)| (name.to_owned(), it)).into(),
    }
}
