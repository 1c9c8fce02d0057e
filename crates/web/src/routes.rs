//! The route table: all that is known of each route, in one place.

use actix_web::http::Method;
use actix_web::web::{self, ServiceConfig};
use pia_policy::Feature;
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use crate::budgets::Budget;

/// One route. Nothing has a default, so nothing is left unsaid.
pub struct Route {
    /// `GET`, `POST`, …; `HEAD` comes with `GET`.
    pub method: Method,
    /// As actix-web matches it: `/api/ai/chat`.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
    /// What callers may show who they are with.
    pub credentials: Credentials,
    /// Which accounts may call it.
    pub accounts: Accounts,
    /// Which licence it needs at all.
    pub licensing: Licensing,
    /// What the licence must include.
    pub feature: Option<Feature>,
    /// What its callers share with those of other routes.
    pub charge: RateLimit,
    /// Whose share a call takes from.
    pub payer: PaidBy,
    /// The longest body it reads, in bytes after decompression.
    pub body_limit: usize,
    /// In which OpenAPI document it stands.
    pub document: Document,
    /// Puts the handler in its place.
    pub handler: fn(actix_web::Route) -> actix_web::Route,
    /// What OpenAPI says of it beyond all this.
    pub docs: Docs,
}

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Whoever can reach the server. A bearer token that comes along is read,
    /// but never refused.
    Anonymous,
    /// Whoever has one of the route's credentials and still has an account, and
    /// the session or the key.
    Bearer,
    /// The same, but not with an app password: what secures the account.
    Owner,
    /// The same, on the way out: whose account is gone is told so, and not
    /// that they must sign in.
    Leaver,
    /// Whoever has the metrics token or, where none is set, calls from the
    /// machine itself.
    Operator,
}

/// The credentials that a route takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credentials {
    /// An access token of a session.
    Session,
    /// The same, or an API key.
    SessionOrApiKey,
}

/// The accounts that a route is open to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accounts {
    /// Those that owe neither the declaration as a trader nor the proof that
    /// their address is their own, where the operator asks for these.
    Complete,
    /// All of them: this is how one signs in, makes up for what is owed, and
    /// leaves.
    Any,
}

/// Whose share of a budget a call takes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaidBy {
    /// The caller's, or that of their address where nobody is signed in.
    Caller,
    /// That of the address: whoever has accounts would have as many shares to
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
}

/// Which licence a route needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Licensing {
    /// None: probes, and what sets the server up.
    NotNeeded,
    /// One that may have ended: staying signed in, reading, leaving.
    MayHaveEnded,
    /// One that is in force: writing, and what costs.
    InForce,
}

/// What a call of a route is counted against, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateLimit {
    /// It is not counted.
    Free,
    /// The gates count it.
    AtGate(Budget),
    /// The handler counts it through [`Toll`](crate::Toll), once it has read
    /// from the body who pays.
    InHandler(Budget),
}

/// What OpenAPI says of a route beyond what the gates do.
#[derive(Clone, Copy)]
pub struct Docs {
    /// The group that it is listed under.
    pub tag: &'static str,
    /// What it is for, in one sentence.
    pub summary: &'static str,
    /// What is sent to it: as its body, or to `GET` in the query.
    pub request: Option<WireType>,
    /// What it answers when all is well.
    pub answer: ResponseDoc,
    /// What else its handler refuses with: status and when.
    pub refusals: &'static [(u16, &'static str)],
}

/// What a route answers when all is well.
#[derive(Clone, Copy)]
pub enum ResponseDoc {
    /// JSON with status 200.
    Json(WireType),
    /// JSON with status 200: a part of a list, which `limit` and `cursor` in
    /// the query choose.
    Page(WireType),
    /// The same, and these parameters of the query choose which part.
    Part(WireType, &'static [Parameter]),
    /// JSON with status 200 or 201, or the same with 409: what is there, where
    /// that stays.
    Stored(WireType),
    /// JSON with status 200, or an event stream where the request asks for it.
    JsonOrEvents(WireType),
    /// Status 302: the browser goes elsewhere.
    Redirect,
    /// The same, or JSON with status 200 where there is nowhere to go.
    JsonOrRedirect(WireType),
    /// JSON with status 200 where the request asks for it, or else a page.
    JsonOrPage(WireType),
    /// Another media type with status 200.
    Other(&'static str),
    /// Status 204 and nothing else.
    Nothing,
}

/// What may stand in the query.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name: `since`.
    pub name: &'static str,
    /// What it is for.
    pub description: &'static str,
    /// What it may be, as a schema in JSON.
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
    /// Whether it is closed to sessions that began with an app password.
    pub(crate) fn owners_only(&self) -> bool {
        matches!(self.access, Access::Owner | Access::Leaver)
    }

    /// Whether a script may call it with an API key in the place of a token.
    pub(crate) fn takes_keys(&self) -> bool {
        self.credentials == Credentials::SessionOrApiKey
    }

    /// Whether a model is asked, which costs the caller credits.
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
        if others.is_empty() { RouteMatch::Nothing } else { RouteMatch::OtherMethods(others.join(", ")) }
    }
}
