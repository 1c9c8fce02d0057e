//! The pages by which people come to an account and back into it.

use actix_web::http::Method;
use pia_web::{Access, Answer, Budget, Charge, Docs, Licensing, Route, wire};

use super::KIB;
use crate::auth::{error, forgot_password, register, reset_password, verify_email};
use crate::page;

type Handler = fn(actix_web::Route) -> actix_web::Route;

pub(super) fn routes() -> Vec<Route> {
    vec![
        style(),
        show("/auth/register.html", "The page to make an account.", |it| it.to(register::show)),
        Route {
            licensing: Licensing::InForce,
            ..submit("/auth/register.html", CONFLICT, |it| it.to(register::submit))
        },
        show("/auth/forgot-password.html", "The page to ask for a link to a new password.", |it| {
            it.to(forgot_password::show)
        }),
        submit("/auth/forgot-password.html", &[], |it| it.to(forgot_password::submit)),
        show("/auth/reset-password.html", "The page that this link leads to.", |it| {
            it.to(reset_password::show)
        }),
        submit("/auth/reset-password.html", &[], |it| it.to(reset_password::submit)),
        show("/auth/verify-email.html", "The page to confirm an e-mail address.", |it| {
            it.to(verify_email::show)
        }),
        submit("/auth/verify-email.html", &[], |it| it.to(verify_email::submit)),
        failed(),
    ]
}

fn failed() -> Route {
    let summary = "The page that says why a sign-in in the browser failed.";
    Route {
        docs: Docs { request: Some(wire::<error::ErrorQuery>), ..docs(summary, &[]) },
        ..show("/auth/error", "", |it| it.to(error::show))
    }
}

const CONFLICT: &[(u16, &str)] = &[(409, "The address has an account.")];

/// The same that the set-up page has, below a path that links can be relative to.
fn style() -> Route {
    Route {
        licensing: Licensing::NotNeeded,
        docs: Docs { answer: Answer::Other("text/css"), ..docs("The style of these pages.", &[]) },
        ..show("/auth/style.css", "", |it| it.to(page::style))
    }
}

fn show(path: &'static str, summary: &'static str, handler: Handler) -> Route {
    Route {
        method: Method::GET,
        path,
        access: Access::Anonymous,
        licensing: Licensing::MayHaveEnded,
        feature: None,
        charge: Charge::AtGate(Budget::Global),
        body_limit: 0,
        handler,
        docs: docs(summary, &[]),
    }
}

fn submit(path: &'static str, refusals: &'static [(u16, &'static str)], handler: Handler) -> Route {
    Route {
        method: Method::POST,
        charge: Charge::AtGate(Budget::Auth),
        body_limit: 16 * KIB,
        docs: docs("Takes the form of that page.", refusals),
        ..show(path, "", handler)
    }
}

fn docs(summary: &'static str, refusals: &'static [(u16, &'static str)]) -> Docs {
    let answer = Answer::Other("text/html");
    Docs { tag: "pages", summary, request: None, answer, refusals }
}
