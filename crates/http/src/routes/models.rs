//! Routes of the catalogue of models.

use actix_web::http::Method;
use pia_policy::Feature;
use pia_web::{ResponseDoc, Route, wire};

use super::KIB;
use super::client_policies::{admin_docs, read, write};
use crate::admin::models;

pub(super) fn routes() -> Vec<Route> {
    vec![list(), test_call()]
}

fn list() -> Route {
    let docs = admin_docs(
        "Lists the models of the catalogue, with their calls by this instance.",
        None,
        ResponseDoc::List(wire::<models::CatalogueModelResponse>),
        &[],
    );
    read("/api/admin/models", docs, |route| route.to(models::list))
}

fn test_call() -> Route {
    let docs = admin_docs(
        "Calls a model with a short question. The provider bills it; no credits are charged.",
        None,
        ResponseDoc::Json(wire::<models::ModelTestResponse>),
        &[(404, "There is no such model: `not_found`.")],
    );
    let path = "/api/admin/models/{key}/test-call";
    let route = write(Method::POST, path, docs, KIB, |route| route.to(models::test_call));
    Route { feature: Some(Feature::AiProxy), ..route }
}
