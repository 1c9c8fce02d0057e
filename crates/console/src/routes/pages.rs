//! Rows of pages for browsers that are signed in.

use actix_web::http::Method;
use pia_identity::Role;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route,
};

use super::KIB;

type Handler = fn(actix_web::Route) -> actix_web::Route;

const ADMINS: &[Role] = &[Role::Admin];

/// Returns the row of a page for administrators.
pub(crate) fn page(path: &'static str, handler: Handler) -> Route {
    Route {
        method: Method::GET,
        path,
        access: Access::ConsolePage(ADMINS),
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::ConsoleCookie,
        accounts: AccountScope::Any,
        feature: None,
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Own,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        body_limit: 0,
        handler,
        docs: Docs {
            tag: "pages",
            summary: "A page, or a form of one.",
            request: None,
            answer: ResponseDoc::Other("text/html"),
            refusals: &[],
        },
    }
}

/// Returns the row of a form for administrators.
pub(crate) fn form(path: &'static str, handler: Handler) -> Route {
    Route {
        method: Method::POST,
        licensing: Licensing::InForce,
        body_limit: 256 * KIB,
        ..page(path, handler)
    }
}

/// Returns the row of a page for the administrators and managers with these
/// roles.
pub(crate) fn page_for(roles: &'static [Role], path: &'static str, handler: Handler) -> Route {
    Route { access: Access::ConsolePage(roles), ..page(path, handler) }
}

/// Returns the row of a page about the group in its path, for administrators
/// and for the group's managers.
pub(crate) fn group_page(path: &'static str, handler: Handler) -> Route {
    Route { access: Access::GroupPage(&[Role::OrgManager]), ..page(path, handler) }
}

/// Returns the row of a page about one's own account.
pub(crate) fn account_page(path: &'static str, handler: Handler) -> Route {
    Route {
        access: Access::AccountPage,
        credentials: AcceptedCredentials::BrowserCookie,
        ..page(path, handler)
    }
}

/// Returns the row of a form about one's own account. Securing and deleting an
/// account goes on with a licence that has expired.
pub(crate) fn account_form(path: &'static str, handler: Handler) -> Route {
    Route {
        method: Method::POST,
        rate_limit: RateLimit::AtGate(Budget::Auth),
        body_limit: 64 * KIB,
        ..account_page(path, handler)
    }
}

/// Returns the row of a page before the sign-in.
pub(crate) fn sign_in_page(path: &'static str, handler: Handler) -> Route {
    Route {
        access: Access::Anonymous,
        credentials: AcceptedCredentials::Session,
        ..page(path, handler)
    }
}

/// Returns the row of a form of the sign-in.
pub(crate) fn sign_in_form(path: &'static str, handler: Handler) -> Route {
    Route {
        method: Method::POST,
        counted_against: CountedAgainst::Address,
        rate_limit: RateLimit::AtGate(Budget::LocalAuth),
        body_limit: 64 * KIB,
        ..sign_in_page(path, handler)
    }
}
