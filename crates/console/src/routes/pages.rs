//! Rows of pages for browsers that are signed in.
//!
//! One function for each kind of row: `page` and `form` for administrators,
//! `group_page` for managers too, `account_…` for one's own account, `sign_in_…`
//! before the sign-in. Rows that differ take one over by `..`.

use actix_web::http::Method;
use pia_identity::Role;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route,
};

use super::KIB;

type Handler = fn(actix_web::Route) -> actix_web::Route;

const ADMINS: &[Role] = &[Role::Admin];

/// Returns the row of a page of the console for administrators.
pub(crate) fn page(path: &'static str, handler: Handler) -> Route {
    page_for(ADMINS, path, handler)
}

/// Returns the row of a form of the console for administrators. It writes, so the licence must
/// be in force.
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
    console_row(path, Access::ConsolePage(roles), handler)
}

/// Returns the row of a page about the group in its path, for administrators
/// and for the group's managers.
pub(crate) fn group_page(path: &'static str, handler: Handler) -> Route {
    console_row(path, Access::GroupPage(&[Role::OrgManager]), handler)
}

/// Returns the row of a page of the console, which an account opens once it is complete, as the
/// JSON routes of the console.
fn console_row(path: &'static str, access: Access, handler: Handler) -> Route {
    Route {
        accounts: AccountScope::Complete,
        ..page_row(path, access, AcceptedCredentials::ConsoleCookie, handler)
    }
}

/// Returns the row of a page about one's own account, on which an account is also completed.
/// Pages of what the account is used for replace `accounts`.
pub(crate) fn account_page(path: &'static str, handler: Handler) -> Route {
    page_row(path, Access::AccountPage, AcceptedCredentials::BrowserCookie, handler)
}

/// Returns the row of a form about one's own account. Securing and deleting an
/// account goes on with a licence that has expired; other changes need one in force,
/// as [`account_change`] requires.
pub(crate) fn account_form(path: &'static str, handler: Handler) -> Route {
    Route {
        method: Method::POST,
        rate_limit: RateLimit::AtGate(Budget::Auth),
        body_limit: 64 * KIB,
        ..account_page(path, handler)
    }
}

/// Returns the row of a form that changes one's own account or hands out a credential for
/// programs, so the licence must be in force.
pub(crate) fn account_change(path: &'static str, handler: Handler) -> Route {
    Route { licensing: Licensing::InForce, ..account_form(path, handler) }
}

/// Returns the row of a page that is open before the sign-in.
pub(crate) fn sign_in_page(path: &'static str, handler: Handler) -> Route {
    page_row(path, Access::Anonymous, AcceptedCredentials::Session, handler)
}

/// Returns the row of a form of the sign-in. Its attempts are counted by address, so that a
/// browser which tries several accounts has one budget for all.
pub(crate) fn sign_in_form(path: &'static str, handler: Handler) -> Route {
    Route {
        method: Method::POST,
        counted_against: CountedAgainst::Address,
        rate_limit: RateLimit::AtGate(Budget::LocalAuth),
        body_limit: 64 * KIB,
        ..sign_in_page(path, handler)
    }
}

/// Returns the row of a page for the callers that `access` and `credentials` admit. Pages are
/// also open with an expired licence; rows of forms replace the fields in which they differ.
fn page_row(
    path: &'static str,
    access: Access,
    credentials: AcceptedCredentials,
    handler: Handler,
) -> Route {
    Route {
        method: Method::GET,
        path,
        access,
        licensing: Licensing::MayHaveEnded,
        credentials,
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
