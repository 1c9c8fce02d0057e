//! `/ready`: readiness of the server.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Data;
use async_trait::async_trait;
use serde::Serialize;
use utoipa::ToSchema;

use crate::Api;

/// Dependencies of readiness.
#[async_trait]
pub trait Readiness: Send + Sync {
    /// Checks all dependencies, within about a second.
    async fn check(&self) -> Ready;
}

/// Reports whether requests can be served, and why not.
pub(crate) async fn ready(api: Data<Api>) -> HttpResponse {
    let result = api.readiness.check().await;
    let is_ready = result.database && result.migrations;
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    HttpResponse::build(status).json(ReadyResponse {
        status: if is_ready { "ready" } else { "unready" },
        database: if result.database { "ok" } else { "unreachable" },
        migrations: if result.migrations { "ok" } else { "pending" },
        license: result.licence,
    })
}

/// Result of the readiness check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// True if the database responds.
    pub database: bool,
    /// True if the database schema is the one that this binary expects.
    pub migrations: bool,
    /// Licence: `valid`, `expired`, `refused` or `missing`. It does not affect
    /// readiness: a server is set up without one.
    pub licence: &'static str,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReadyResponse {
    /// `ready` or `unready`.
    status: &'static str,
    database: &'static str,
    migrations: &'static str,
    license: &'static str,
}
