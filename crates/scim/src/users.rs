//! Handlers of `/scim/v2/Users`.
//!
//! `If-None-Match` is compared here. `If-Match` is passed on and compared in
//! the store, under the account's lock, so that no change comes between.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{Data, Query};
use pia_identity::{ScimUserQuery, ScimUserUpdate};
use pia_kernel::UserId;
use pia_web::{ApiError, PathId, ScimCaller};
use serde_json::Value;

use crate::body::Resource;
use crate::filter::user_conditions;
use crate::list::ScimQuery;
use crate::scim::{Scim, respond, respond_whole};
use crate::user_changes::{creation, patch, replacement};
use crate::version::{ExpectedVersion, KnownVersion, not_modified};

pub(crate) async fn list(
    caller: ScimCaller,
    scim: Data<Scim>,
    query: Query<ScimQuery>,
) -> Result<HttpResponse, ApiError> {
    let conditions = user_conditions(query.filter.as_deref())?;
    let selected = ScimUserQuery { conditions, offset: query.offset(), limit: query.limit() };
    let users = scim.users.clone();
    let page = scim.run(caller, async move { users.list(selected).await }).await?;
    let resources: Vec<Value> =
        page.users.iter().map(|it| query.select(scim.user_resource(it))).collect();
    Ok(respond_whole(&query.page(page.total, &resources)))
}

pub(crate) async fn show(
    caller: ScimCaller,
    scim: Data<Scim>,
    PathId(id): PathId,
    query: Query<ScimQuery>,
    KnownVersion(known): KnownVersion,
) -> Result<HttpResponse, ApiError> {
    let users = scim.users.clone();
    let user = scim.run(caller, async move { users.find(UserId(id)).await }).await?;
    if known.is_some_and(|it| it == user.version()) {
        return Ok(not_modified(&user.version()));
    }
    Ok(respond(StatusCode::OK, scim.user_resource(&user), &query))
}

pub(crate) async fn create(
    caller: ScimCaller,
    scim: Data<Scim>,
    Resource(resource): Resource,
) -> Result<HttpResponse, ApiError> {
    let users = scim.users.clone();
    let update = creation(&resource)?;
    let user = scim.run(caller, async move { users.create(update).await }).await?;
    Ok(respond(StatusCode::CREATED, scim.user_resource(&user), &ScimQuery::default()))
}

pub(crate) async fn replace(
    caller: ScimCaller,
    scim: Data<Scim>,
    PathId(id): PathId,
    ExpectedVersion(expected): ExpectedVersion,
    Resource(resource): Resource,
) -> Result<HttpResponse, ApiError> {
    change(caller, &scim, UserId(id), expected, replacement(&resource)?).await
}

pub(crate) async fn modify(
    caller: ScimCaller,
    scim: Data<Scim>,
    PathId(id): PathId,
    ExpectedVersion(expected): ExpectedVersion,
    Resource(body): Resource,
) -> Result<HttpResponse, ApiError> {
    change(caller, &scim, UserId(id), expected, patch(&body)?).await
}

pub(crate) async fn delete(
    caller: ScimCaller,
    scim: Data<Scim>,
    PathId(id): PathId,
) -> Result<HttpResponse, ApiError> {
    let users = scim.users.clone();
    scim.run(caller, async move { users.delete(UserId(id)).await }).await?;
    Ok(HttpResponse::NoContent().finish())
}

async fn change(
    caller: ScimCaller,
    scim: &Scim,
    user: UserId,
    expected_version: Option<String>,
    update: ScimUserUpdate,
) -> Result<HttpResponse, ApiError> {
    let users = scim.users.clone();
    let changed_user =
        scim.run(caller, async move { users.change(user, expected_version, update).await }).await?;
    Ok(respond(StatusCode::OK, scim.user_resource(&changed_user), &ScimQuery::default()))
}
