//! Use cases that handlers call, and the form of their responses.

use std::future::Future;
use std::sync::Arc;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{ETAG, LOCATION};
use pia_identity::ScimUsers;
use pia_kernel::RequestContext;
use pia_policy::Groups;
use pia_web::{ApiError, Runner, ScimCaller};
use serde_json::Value;

use crate::list::ScimQuery;
use crate::refusals::ScimError;

/// Media type of every body.
pub(crate) const MEDIA_TYPE: &str = "application/scim+json";

/// Use cases that handlers call.
#[derive(Clone)]
pub struct Scim {
    /// Use cases of users, from `identity`.
    pub users: ScimUsers,
    /// Use cases of groups, from `policy`.
    pub groups: Groups,
    /// Public address of the server, without a slash at its end.
    pub public_url: Arc<str>,
    /// Runner that completes a use case even if its client disconnects.
    pub runner: Runner,
}

impl Scim {
    /// Runs a use case on its own task. Audit entries name the caller's token
    /// as the program that acted.
    pub(crate) async fn run<T, E, F>(
        &self,
        ScimCaller(client): ScimCaller,
        use_case: F,
    ) -> Result<T, ApiError>
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Into<ScimError> + Send + 'static,
    {
        let agent = format!("scim-token:{} ({})", client.token, client.name);
        let context = RequestContext { agent: Some(agent.into()), ..RequestContext::current() };
        self.runner.run(context.scope(async { use_case.await.map_err(|err| err.into().0) })).await
    }

    /// Returns the address of a resource.
    pub(crate) fn location(&self, collection: &str, id: &str) -> String {
        format!("{}/scim/v2/{collection}/{id}", self.public_url)
    }
}

/// Returns a response with the selected attributes of a resource, and with its
/// location and version.
pub(crate) fn respond(status: StatusCode, resource: Value, query: &ScimQuery) -> HttpResponse {
    let meta = |name| resource.get("meta")?.get(name)?.as_str();
    let mut response = HttpResponse::build(status);
    if let Some(location) = meta("location") {
        response.insert_header((LOCATION, location));
    }
    if let Some(version) = meta("version") {
        response.insert_header((ETAG, version));
    }
    response.content_type(MEDIA_TYPE).body(query.select(resource).to_string())
}

/// Returns a response with a document as its body, from which no attributes are
/// selected.
pub(crate) fn respond_whole(document: &Value) -> HttpResponse {
    HttpResponse::Ok().content_type(MEDIA_TYPE).body(document.to_string())
}
