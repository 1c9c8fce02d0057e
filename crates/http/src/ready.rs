//! `/ready`: whether requests can be served.

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
    /// Looks at everything now, within a second or so.
    async fn check(&self) -> Ready;
}

/// Result of the readiness check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// True if the database answers.
    pub database: bool,
    /// True if the database schema is the one that this binary expects.
    pub migrations: bool,
    /// The licence: `valid`, `expired`, `refused` or `missing`. Reported, but no
    /// reason to be unready: a server is set up while it has none.
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

pub(crate) async fn ready(api: Data<Api>) -> HttpResponse {
    let found = api.readiness.check().await;
    let fine = found.database && found.migrations;
    let status = if fine { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    HttpResponse::build(status).json(ReadyResponse {
        status: if fine { "ready" } else { "unready" },
        database: if found.database { "ok" } else { "unreachable" },
        migrations: if found.migrations { "ok" } else { "pending" },
        license: found.licence,
    })
}
