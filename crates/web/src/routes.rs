//! Route table: all properties of every route.
//!
//! Each surface has a function `routes` that returns its rows;
//! `server/src/routes.rs` joins them into one `RouteTable`. The gates enforce the
//! properties, `openapi.rs` documents them, and `register` connects the handlers to
//! actix-web.

use actix_web::http::Method;
use actix_web::middleware::from_fn;
use actix_web::web::{self, ServiceConfig};
use pia_identity::{Role, ScimScope, SessionScope};
use pia_policy::Feature;
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use crate::budgets::Budget;
use crate::surface::catch_panics;

/// Route. No property has a default, so each is stated.
pub struct Route {
    /// `GET`, `POST`, …; `HEAD` comes with `GET`.
    pub method: Method,
    /// Path pattern of actix-web: `/api/ai/chat`.
    pub path: &'static str,
    /// Callers that may call it.
    pub access: Access,
    /// Accepted credentials.
    pub credentials: AcceptedCredentials,
    /// Accounts that may call it.
    pub accounts: AccountScope,
    /// Required licence.
    pub licensing: Licensing,
    /// Feature that the licence must include.
    pub feature: Option<Feature>,
    /// Rate limit of its calls.
    pub rate_limit: RateLimit,
    /// Owner of the budget that a call takes from.
    pub counted_against: CountedAgainst,
    /// Maximum length of the body, in bytes after decompression.
    pub body_limit: usize,
    /// OpenAPI document that lists the route.
    pub document: OpenApiDocument,
    /// Place that requires a recent proof of the session's owner.
    pub proof_check: ProofCheck,
    /// Registers the handler with a route of actix-web.
    pub handler: fn(actix_web::Route) -> actix_web::Route,
    /// Further documentation for OpenAPI.
    pub docs: Docs,
}

/// Callers that may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anyone. A bearer token is read if present, but never required.
    Anonymous,
    /// Callers with one of the route's credentials whose account, and session
    /// or key, still exist.
    Bearer,
    /// Callers with a bearer token, except for app passwords: routes that
    /// secure the account.
    Owner,
    /// Callers like `Bearer` who manage the knowledge bases of their group:
    /// accounts with the role for it, and administrators.
    KbManager,
    /// Like `Owner`, for deleting the account: if it is already gone, the
    /// response says so instead of requesting a sign-in.
    OwnerOrGone,
    /// Accounts with one of these roles, from a browser that is signed in to
    /// the console. A write needs the browser's CSRF token.
    Console(&'static [Role]),
    /// Administrators as for [`Console`](Self::Console); accounts with one of
    /// these roles see the group in the path as missing unless it is theirs.
    GroupConsole(&'static [Role]),
    /// Accounts as for [`Console`](Self::Console), for a page: a form carries
    /// the CSRF token in its body, where its handler verifies it.
    ConsolePage(&'static [Role]),
    /// Accounts as for [`GroupConsole`](Self::GroupConsole), for a page.
    GroupPage(&'static [Role]),
    /// Any account, from a browser that is signed in, for a page about that
    /// account.
    AccountPage,
    /// Caller with the metrics token or, where none is set, from the machine itself.
    Operator,
    /// Identity provider with a SCIM token of this scope.
    Scim(ScimScope),
    /// Program with the service key. Without a configured key the route does
    /// not exist.
    Service,
    /// Pod with a token of its connector, which the hub verifies once the call was
    /// counted. The only access that accepts WebSockets.
    Pod,
}

/// Credentials that a route accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcceptedCredentials {
    /// Access token of a session.
    Session,
    /// Access token of a session, or an API key.
    SessionOrApiKey,
    /// Cookie of a browser in the console, and nothing else.
    ConsoleCookie,
    /// Cookie of a browser in the console or in the pages of one's own account,
    /// and nothing else.
    BrowserCookie,
    /// A SCIM token, which belongs to no account, and nothing else.
    ScimToken,
    /// Service key in `X-Service-Key`, which belongs to no account, and nothing
    /// else.
    ServiceKey,
    /// Token of a connector, which belongs to no account, and nothing else.
    PodToken,
}

/// Accounts that a route is open to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountScope {
    /// Accounts that owe neither the trader declaration nor the verification of
    /// their address, where the operator requires these.
    Complete,
    /// Accounts that do not owe the trader declaration, which their owner makes at once: routes
    /// by which an administrator changes what requires the verification, or mends its emails.
    Declared,
    /// All accounts: routes to sign in, to complete the account, and to delete
    /// it.
    Any,
}

/// Owner of the budget that a call takes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedAgainst {
    /// Budget of the caller, or of the address for anonymous calls.
    Caller,
    /// Budget of the address: a caller with several accounts would otherwise
    /// have several budgets for guessing.
    Address,
}

/// OpenAPI document that lists a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenApiDocument {
    /// Document for everyone.
    Public,
    /// Document for administrators.
    Admin,
    /// None: the surface describes itself in another form.
    Own,
}

/// Licence that a route needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Licensing {
    /// None: probes and setup.
    NotNeeded,
    /// One that may have expired: sessions, reading, and deleting the account.
    MayHaveEnded,
    /// One in force: writing, and calls that cost credits.
    InForce,
}

/// Place that requires a recent proof that the caller owns the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProofCheck {
    /// Gates: the session began, or proved its owner, within the last ten
    /// minutes.
    AtGate,
    /// Handler, if the act needs one: the body may contain it.
    InHandler,
}

/// Budget that a call counts against, and the place where it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateLimit {
    /// Requests are not counted.
    Unlimited,
    /// Gates count it.
    AtGate(Budget),
    /// Handler counts it through
    /// [`DeferredRateLimit`](crate::DeferredRateLimit), once it has read the
    /// payer from the body.
    InHandler(Budget),
}

/// Documentation of a route for OpenAPI, beyond the properties that the gates
/// enforce.
#[derive(Clone, Copy)]
pub struct Docs {
    /// Tag of the operation.
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
    /// JSON with status 202, or 200 if nothing changed.
    AcceptedOrUnchanged(WireType),
    /// JSON with status 200: an array.
    List(WireType),
    /// JSON with status 200: a page of a list, chosen by `limit` and `cursor`
    /// in the query.
    Page(WireType),
    /// JSON with status 200: a page of a list, chosen by these query
    /// parameters.
    Part(WireType, &'static [Parameter]),
    /// JSON with status 200 or 201, or 409 with the stored object if that is
    /// newer.
    Stored(WireType),
    /// JSON with status 200, or an event stream if the request requests one.
    JsonOrEvents(WireType),
    /// Status 302: redirects the browser.
    Redirect,
    /// Status 302, or JSON with status 200 if there is no redirect target.
    JsonOrRedirect(WireType),
    /// JSON with status 200 if the request accepts it, or else status 302, which
    /// redirects to a page. Refusals may be pages.
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

/// Function that adds a wire struct, and those it contains, to a document, and
/// returns its name there.
pub type WireType = fn(&mut Vec<(String, RefOr<Schema>)>) -> String;

/// Adds `T` to a document; a [`WireType`].
pub fn wire<T: ToSchema>(schemas: &mut Vec<(String, RefOr<Schema>)>) -> String {
    T::schemas(schemas);
    schemas.push((T::name().into_owned(), T::schema()));
    T::name().into_owned()
}

/// All routes of the server. A path that is not listed does not exist.
pub struct RouteTable(Vec<Route>);

pub(crate) enum RouteMatch<'a> {
    Route(&'a Route),
    /// The path supports these methods only.
    OtherMethods(String),
    Nothing,
}

impl Route {
    /// Returns whether it is closed to sessions of app passwords.
    pub(crate) fn owners_only(&self) -> bool {
        matches!(self.access, Access::Owner | Access::OwnerOrGone)
    }

    /// Returns the roles that may call it from the console; nothing for a route
    /// that is not called from there.
    pub(crate) fn console_roles(&self) -> Option<Vec<Role>> {
        match self.access {
            Access::Console(roles) | Access::ConsolePage(roles) => Some(roles.to_vec()),
            Access::GroupConsole(roles) | Access::GroupPage(roles) => {
                Some([&[Role::Admin], roles].concat())
            }
            Access::Anonymous
            | Access::AccountPage
            | Access::Bearer
            | Access::KbManager
            | Access::Owner
            | Access::OwnerOrGone
            | Access::Operator
            | Access::Scim(_)
            | Access::Service
            | Access::Pod => None,
        }
    }

    /// Returns whether a path is one of its pattern.
    pub(crate) fn matches(&self, path: &str) -> bool {
        let mut segments = self.path.split('/').zip(path.split('/'));
        self.path.matches('/').count() == path.matches('/').count()
            && segments.all(|(part, it)| part == it || part.starts_with('{'))
    }

    /// Returns whether it is a page for browsers that are signed in.
    pub(crate) fn is_page(&self) -> bool {
        matches!(self.access, Access::ConsolePage(_) | Access::GroupPage(_) | Access::AccountPage)
    }

    /// Returns whether it accepts the cookie of a browser.
    pub(crate) fn accepts_cookie(&self) -> bool {
        matches!(
            self.credentials,
            AcceptedCredentials::ConsoleCookie | AcceptedCredentials::BrowserCookie
        )
    }

    /// Returns whether it is closed to accounts with this role because they do
    /// not manage knowledge bases.
    pub(crate) fn needs_kb_manager(&self, role: Role) -> bool {
        self.access == Access::KbManager && !matches!(role, Role::KbManager | Role::Admin)
    }

    /// Returns whether it accepts an API key instead of a token.
    pub(crate) fn accepts_keys(&self) -> bool {
        self.credentials == AcceptedCredentials::SessionOrApiKey
    }

    /// Returns whether it accepts credentials of this scope.
    pub(crate) fn accepts(&self, scope: SessionScope) -> bool {
        match scope {
            SessionScope::Full | SessionScope::Data => matches!(
                self.credentials,
                AcceptedCredentials::Session | AcceptedCredentials::SessionOrApiKey
            ),
            SessionScope::Console => self.accepts_cookie(),
            SessionScope::Account => self.credentials == AcceptedCredentials::BrowserCookie,
            SessionScope::Key(_) => self.accepts_keys(),
        }
    }

    /// Returns whether it calls a model, which costs the caller credits.
    pub(crate) fn costs_credits(&self) -> bool {
        self.rate_limit == RateLimit::AtGate(Budget::Ai)
    }
}

impl RouteTable {
    /// Creates a table of these routes.
    pub fn new(routes: Vec<Route>) -> Self {
        Self(routes)
    }

    /// Returns the routes, in their order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = &Route> {
        self.0.iter()
    }

    /// Registers every route.
    pub fn register(&self, config: &mut ServiceConfig) {
        for route in &self.0 {
            // `route` guards the resource by its method: of two plain resources
            // with one path, the second would never be matched.
            let handle = |method| (route.handler)(web::method(method)).wrap(from_fn(catch_panics));
            config.route(route.path, handle(route.method.clone()));
            if route.method == Method::GET {
                config.route(route.path, handle(Method::HEAD));
            }
        }
    }

    /// Finds the route of a request among those that the server serves.
    pub(crate) fn find(
        &self,
        method: &Method,
        path: &str,
        is_served: impl Fn(&Route) -> bool,
    ) -> RouteMatch<'_> {
        let method = if method == Method::HEAD { &Method::GET } else { method };
        let mut allowed = Vec::new();
        for route in self.0.iter().filter(|it| it.path == path && is_served(it)) {
            if route.method == method {
                return RouteMatch::Route(route);
            }
            allowed.push(route.method.as_str());
            if route.method == Method::GET {
                allowed.push(Method::HEAD.as_str());
            }
        }

        if allowed.is_empty() {
            RouteMatch::Nothing
        } else {
            RouteMatch::OtherMethods(allowed.join(", "))
        }
    }
}
