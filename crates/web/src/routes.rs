//! The route table: all that is known of each route, in one place.

use actix_web::http::Method;
use actix_web::web::{self, ServiceConfig};
use pia_identity::{Role, ScimScope, SessionScope};
use pia_policy::Feature;
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use crate::budgets::Budget;

/// Route. Nothing has a default, so nothing is left unsaid.
pub struct Route {
    /// `GET`, `POST`, …; `HEAD` comes with `GET`.
    pub method: Method,
    /// Path pattern of actix-web: `/api/ai/chat`.
    pub path: &'static str,
    /// Callers that may use it.
    pub access: Access,
    /// Credentials that it accepts.
    pub credentials: AcceptedCredentials,
    /// Accounts that may use it.
    pub accounts: AccountScope,
    /// Licence that it needs.
    pub licensing: Licensing,
    /// Feature that the licence must include.
    pub feature: Option<Feature>,
    /// Rate limit of its calls.
    pub charge: RateLimit,
    /// Owner of the budget that a call takes from.
    pub payer: PaidBy,
    /// The longest body it reads, in bytes after decompression.
    pub body_limit: usize,
    /// OpenAPI document that lists the route.
    pub document: Document,
    /// Puts the handler in its place.
    pub handler: fn(actix_web::Route) -> actix_web::Route,
    /// Documentation for OpenAPI beyond all this.
    pub docs: Docs,
}

/// Callers that may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anyone. A bearer token is read if present, but never refused.
    Anonymous,
    /// Caller with one of the route's credentials whose account, and session or key, still exist.
    Bearer,
    /// Callers with a bearer token, but not with an app password: for what
    /// secures the account.
    Owner,
    /// Owners on the way out: a caller whose account is gone gets that answer,
    /// and not that they must sign in.
    OwnerOrGone,
    /// Accounts with one of these roles, from a browser that is signed in to
    /// the console. A write needs the browser's CSRF token.
    Console(&'static [Role]),
    /// Administrators as for [`Console`](Self::Console); accounts with one of
    /// these roles see the group in the path as missing unless it is theirs.
    GroupConsole(&'static [Role]),
    /// Caller with the metrics token or, where none is set, from the machine itself.
    Operator,
    /// Identity provider with a SCIM token of this scope.
    Scim(ScimScope),
}

/// The credentials that a route takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcceptedCredentials {
    /// An access token of a session.
    Session,
    /// An access token of a session, or an API key.
    SessionOrApiKey,
    /// The cookie of a browser in the console, and nothing else.
    ConsoleCookie,
    /// A SCIM token, which belongs to no account, and nothing else.
    ScimToken,
}

/// The accounts that a route is open to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountScope {
    /// Callers who owe neither the trader declaration nor the verification of their address, where
    /// the operator requests these.
    Complete,
    /// All of them: this is how one signs in, makes up for what is owed, and
    /// leaves.
    Any,
}

/// Owner of the budget that a call takes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaidBy {
    /// The caller's, or that of their address where nobody is signed in.
    Caller,
    /// Share of the address: a caller with several accounts would otherwise have several shares to
    /// guess from.
    Address,
}

/// The OpenAPI document that lists a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Document {
    /// The one for everybody.
    Public,
    /// The one for administrators.
    Admin,
    /// None: the surface describes itself in another form.
    Own,
}

/// Licence that a route needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Licensing {
    /// None: probes, and what sets the server up.
    NotNeeded,
    /// One that may have ended: staying signed in, reading, leaving.
    MayHaveEnded,
    /// One that is in force: writing, and what costs.
    InForce,
}

/// Budget that a call counts against, and the place where it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateLimit {
    /// Requests are not counted.
    Free,
    /// The gates count it.
    AtGate(Budget),
    /// The handler counts it through [`DeferredRateLimit`](crate::DeferredRateLimit), once it has read
    /// from the body who pays.
    InHandler(Budget),
}

/// Documentation of a route for OpenAPI, beyond what the gates do.
#[derive(Clone, Copy)]
pub struct Docs {
    /// The group that it is listed under.
    pub tag: &'static str,
    /// Purpose, in one sentence.
    pub summary: &'static str,
    /// Request: the body, or the query of a `GET`.
    pub request: Option<WireType>,
    /// Successful response.
    pub answer: ResponseDoc,
    /// Statuses of the handler's own refusals, and their reasons.
    pub refusals: &'static [(u16, &'static str)],
}

/// Successful response of a route.
#[derive(Clone, Copy)]
pub enum ResponseDoc {
    /// JSON with status 200.
    Json(WireType),
    /// JSON with status 201.
    Created(WireType),
    /// JSON with status 202.
    Accepted(WireType),
    /// JSON with status 200: an array.
    List(WireType),
    /// JSON with status 200: a part of a list, which `limit` and `cursor` in
    /// the query choose.
    Page(WireType),
    /// JSON with status 200: a page of a list, which these query parameters
    /// choose.
    Part(WireType, &'static [Parameter]),
    /// JSON with status 200 or 201, or the same with 409: what is there, where
    /// that stays.
    Stored(WireType),
    /// JSON with status 200, or an event stream where the request requests it.
    JsonOrEvents(WireType),
    /// Status 302: the browser goes elsewhere.
    Redirect,
    /// Status 302, or JSON with status 200 where there is nowhere to go.
    JsonOrRedirect(WireType),
    /// JSON with status 200 where the request requests it, or else a page.
    JsonOrPage(WireType),
    /// Another media type with status 200.
    Other(&'static str),
    /// Status 204 and nothing else.
    Nothing,
}

/// Query parameter.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Name: `since`.
    pub name: &'static str,
    /// Purpose of the parameter.
    pub description: &'static str,
    /// JSON Schema of its value.
    pub schema: fn() -> serde_json::Value,
}

/// Adds a wire struct, and those in it, to a document; answers its name there.
pub type WireType = fn(&mut Vec<(String, RefOr<Schema>)>) -> String;

/// The [`WireType`] of `T`.
pub fn wire<T: ToSchema>(schemas: &mut Vec<(String, RefOr<Schema>)>) -> String {
    T::schemas(schemas);
    schemas.push((T::name().into_owned(), T::schema()));
    T::name().into_owned()
}

/// Every route of the server. What is not in it does not exist.
pub struct RouteTable(Vec<Route>);

pub(crate) enum RouteMatch<'a> {
    Route(&'a Route),
    /// The path takes these methods only.
    OtherMethods(String),
    Nothing,
}

impl Route {
    /// Returns whether it is closed to sessions that began with an app
    /// password.
    pub(crate) fn owners_only(&self) -> bool {
        matches!(self.access, Access::Owner | Access::OwnerOrGone)
    }

    /// Returns the roles that may call it from the console; nothing for a route
    /// that is not called from there.
    pub(crate) fn console_roles(&self) -> Option<Vec<Role>> {
        match self.access {
            Access::Console(roles) => Some(roles.to_vec()),
            Access::GroupConsole(roles) => Some([&[Role::Admin], roles].concat()),
            Access::Anonymous
            | Access::Bearer
            | Access::Owner
            | Access::OwnerOrGone
            | Access::Operator
            | Access::Scim(_) => None,
        }
    }

    /// Returns whether a script may call it with an API key instead of a token.
    pub(crate) fn takes_keys(&self) -> bool {
        self.credentials == AcceptedCredentials::SessionOrApiKey
    }

    /// Returns whether its credentials are for this purpose.
    pub(crate) fn takes(&self, scope: SessionScope) -> bool {
        match scope {
            SessionScope::Full | SessionScope::Data => matches!(
                self.credentials,
                AcceptedCredentials::Session | AcceptedCredentials::SessionOrApiKey
            ),
            SessionScope::Console => self.credentials == AcceptedCredentials::ConsoleCookie,
            SessionScope::Key(_) => self.takes_keys(),
        }
    }

    /// Returns whether it calls a model, which costs the caller credits.
    pub(crate) fn costs_credits(&self) -> bool {
        self.charge == RateLimit::AtGate(Budget::Ai)
    }
}

impl RouteTable {
    /// A table of these routes.
    pub fn new(routes: Vec<Route>) -> Self {
        Self(routes)
    }

    /// The routes, in the order they were written.
    pub fn iter(&self) -> impl Iterator<Item = &Route> {
        self.0.iter()
    }

    /// Registers every route.
    pub fn register(&self, config: &mut ServiceConfig) {
        for route in &self.0 {
            // `route`, which guards the resource by its method: of two plain
            // resources with one path the second is never asked.
            config.route(route.path, (route.handler)(web::method(route.method.clone())));
            if route.method == Method::GET {
                config.route(route.path, (route.handler)(web::method(Method::HEAD)));
            }
        }
    }

    pub(crate) fn find(&self, method: &Method, path: &str) -> RouteMatch<'_> {
        let method = if method == Method::HEAD { &Method::GET } else { method };
        let mut others = Vec::new();
        for route in self.0.iter().filter(|it| it.path == path) {
            if route.method == method {
                return RouteMatch::Route(route);
            }
            others.push(route.method.as_str());
            if route.method == Method::GET {
                others.push(Method::HEAD.as_str());
            }
        }
        if others.is_empty() {
            RouteMatch::Nothing
        } else {
            RouteMatch::OtherMethods(others.join(", "))
        }
    }
}
