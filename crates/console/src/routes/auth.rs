//! Routes of registration and account recovery.

use actix_web::HttpRequest;
use actix_web::http::Method;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route, wire,
};

use super::KIB;
use crate::auth::email_page::{FORGOT_PASSWORD, RESEND_VERIFICATION};
use crate::auth::{error, register, reset_password, verify_email};
use crate::{page, well_known};

type Handler = fn(actix_web::Route) -> actix_web::Route;

pub(super) fn routes() -> Vec<Route> {
    vec![
        style(),
        icon("/auth/icon.svg"),
        icon("/favicon.ico"),
        show("/auth/register.html", "The page to make an account.", |it| it.to(register::show)),
        Route {
            licensing: Licensing::InForce,
            ..submit("/auth/register.html", CONFLICT, |it| it.to(register::submit))
        },
        show("/auth/forgot-password.html", "The page to ask for a link to a new password.", |it| {
            it.to(async |request: HttpRequest| FORGOT_PASSWORD.show(&request))
        }),
        submit("/auth/forgot-password.html", &[], |it| {
            it.to(|data, request, body| FORGOT_PASSWORD.submit(data, request, body))
        }),
        show("/auth/resend-verification.html", "The page to ask for another link.", |it| {
            it.to(async |request: HttpRequest| RESEND_VERIFICATION.show(&request))
        }),
        submit("/auth/resend-verification.html", &[], |it| {
            it.to(|data, request, body| RESEND_VERIFICATION.submit(data, request, body))
        }),
        show("/auth/reset-password.html", "The page that this link leads to.", |it| {
            it.to(reset_password::show)
        }),
        submit("/auth/reset-password.html", &[], |it| it.to(reset_password::submit)),
        show("/auth/verify-email.html", "The page to confirm an email address.", |it| {
            it.to(verify_email::show)
        }),
        submit("/auth/verify-email.html", &[], |it| it.to(verify_email::submit)),
        failed(),
        change_password(),
        passkey_endpoints(),
    ]
}

fn change_password() -> Route {
    let summary = "Leads password managers to where a password is changed.";
    Route {
        docs: Docs { answer: ResponseDoc::Redirect, ..docs(summary, &[]) },
        ..show("/.well-known/change-password", "", |it| it.to(well_known::change_password))
    }
}

fn passkey_endpoints() -> Route {
    let summary = "Tells password managers that accounts may have passkeys.";
    Route {
        docs: Docs { answer: ResponseDoc::Other("application/json"), ..docs(summary, &[]) },
        ..show("/.well-known/passkey-endpoints", "", |it| it.to(well_known::passkey_endpoints))
    }
}

fn failed() -> Route {
    let summary = "The page that says why a sign-in in the browser failed.";
    Route {
        docs: Docs { request: Some(wire::<error::ErrorQuery>), ..docs(summary, &[]) },
        ..show("/auth/error", "", |it| it.to(error::show))
    }
}

const CONFLICT: &[(u16, &str)] = &[(409, "The address has an account.")];

/// Serves the style sheet below a path that relative links can use.
fn style() -> Route {
    Route {
        licensing: Licensing::NotNeeded,
        docs: Docs {
            answer: ResponseDoc::Other("text/css"),
            ..docs("The style of these pages.", &[])
        },
        ..show("/auth/style.css", "", |it| it.to(page::style))
    }
}

/// Serves the icon, also at the path where browsers look for it.
fn icon(path: &'static str) -> Route {
    let summary = "The icon of these pages.";
    Route {
        licensing: Licensing::NotNeeded,
        docs: Docs { answer: ResponseDoc::Other("image/svg+xml"), ..docs(summary, &[]) },
        ..show(path, "", |it| it.to(page::icon))
    }
}

fn show(path: &'static str, summary: &'static str, handler: Handler) -> Route {
    Route {
        method: Method::GET,
        path,
        access: Access::Anonymous,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Any,
        feature: None,
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        body_limit: 0,
        handler,
        docs: docs(summary, &[]),
    }
}

fn submit(path: &'static str, refusals: &'static [(u16, &'static str)], handler: Handler) -> Route {
    Route {
        method: Method::POST,
        rate_limit: RateLimit::AtGate(Budget::Auth),
        counted_against: CountedAgainst::Address,
        body_limit: 16 * KIB,
        docs: docs("Takes the form of that page.", refusals),
        ..show(path, "", handler)
    }
}

fn docs(summary: &'static str, refusals: &'static [(u16, &'static str)]) -> Docs {
    let answer = ResponseDoc::Other("text/html");
    Docs { tag: "pages", summary, request: None, answer, refusals }
}
