//! Routes of the pages, with their access rules.

mod auth;
pub(crate) mod pages;
mod sign_in;

use actix_web::http::Method;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route,
};

use crate::{account, admin, administrator, front, page, setup};

const KIB: usize = 1024;

/// Returns the routes of this crate. Those of the setup are open to anonymous
/// clients: before it the operator has no account, only the setup token.
pub fn routes() -> Vec<Route> {
    let setup = [front(), show(), style(), icon(), submit(), upload(), create_first_admin()];
    let pages = [auth::routes(), sign_in::routes(), admin::routes(), account::routes()];
    setup.into_iter().chain(pages.into_iter().flatten()).collect()
}

fn show() -> Route {
    let summary = "The page that sets the server up.";
    open(Method::GET, "/admin/setup", |route| route.to(setup::show), docs(summary, "text/html"))
}

fn style() -> Route {
    let style_docs = docs("The style of that page.", "text/css");
    open(Method::GET, "/admin/setup/style.css", |route| route.to(page::style), style_docs)
}

fn icon() -> Route {
    let icon_docs = docs("The icon of that page.", "image/svg+xml");
    open(Method::GET, "/admin/setup/icon.svg", |route| route.to(page::icon), icon_docs)
}

fn front() -> Route {
    let front_docs = Docs {
        tag: "pages",
        refusals: &[(404, "No page was asked for: `not_found`.")],
        ..docs("The front page, for browsers.", "text/html")
    };
    Route {
        licensing: Licensing::MayHaveEnded,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        ..open(Method::GET, "/", |route| route.to(front::show), front_docs)
    }
}

fn submit() -> Route {
    Route {
        rate_limit: RateLimit::AtGate(Budget::Auth),
        counted_against: CountedAgainst::Address,
        body_limit: 128 * KIB,
        ..open(
            Method::POST,
            "/admin/setup",
            |route| route.to(setup::submit),
            docs("Takes a form of that page.", "text/html"),
        )
    }
}

fn upload() -> Route {
    Route {
        rate_limit: RateLimit::AtGate(Budget::Auth),
        counted_against: CountedAgainst::Address,
        body_limit: 64 * KIB,
        ..open(
            Method::POST,
            "/admin/setup/license",
            |route| route.to(setup::upload),
            Docs {
                refusals: &[
                    (
                        400,
                        "The licence is not accepted: `license_truncated`, `license_foreign`, \
                           `license_forged`, `license_unreadable` or `license_expired`.",
                    ),
                    (403, "The setup token is missing or wrong: `invalid_setup_token`."),
                    (409, "A licence is in force: `already_licensed`."),
                ],
                ..docs("Takes a licence file as it is.", "application/json")
            },
        )
    }
}

fn create_first_admin() -> Route {
    Route {
        licensing: Licensing::InForce,
        rate_limit: RateLimit::AtGate(Budget::Auth),
        counted_against: CountedAgainst::Address,
        body_limit: 64 * KIB,
        ..open(
            Method::POST,
            "/admin/setup/administrator",
            |route| route.to(administrator::create_first_admin),
            Docs {
                refusals: &[
                    (
                        403,
                        "The setup token is missing or wrong: `invalid_setup_token`. Or the \
                         licence has no seat left: `user_limit_reached`.",
                    ),
                    (
                        409,
                        "There is an administrator: `already_set_up`. Or an account with this \
                         address: `email_exists`.",
                    ),
                ],
                ..docs("Makes the first administrator's account.", "application/json")
            },
        )
    }
}

/// Returns the row of a page or file that is open to anonymous clients, without a licence too.
/// Rows of forms replace the limits.
fn open(
    method: Method,
    path: &'static str,
    handler: fn(actix_web::Route) -> actix_web::Route,
    docs: Docs,
) -> Route {
    Route {
        method,
        path,
        access: Access::Anonymous,
        licensing: Licensing::NotNeeded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Complete,
        feature: None,
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Admin,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        body_limit: 0,
        handler,
        docs,
    }
}

fn docs(summary: &'static str, answer: &'static str) -> Docs {
    Docs { tag: "setup", summary, request: None, answer: ResponseDoc::Other(answer), refusals: &[] }
}
