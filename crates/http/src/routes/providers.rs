//! Routes of sign-in with identity providers.

use actix_web::http::Method;
use pia_policy::Feature;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route, wire,
};

use super::KIB;
use crate::auth::{SignInResponse, providers};

pub(super) fn routes() -> Vec<Route> {
    vec![login(), callback(), token()]
}

fn login() -> Route {
    Route {
        method: Method::GET,
        path: "/auth/login",
        access: Access::Anonymous,
        // Creating an account needs a licence in force, which is checked later.
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Any,
        feature: Some(Feature::OAuth),
        counted_against: CountedAgainst::Address,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Auth),
        body_limit: 0,
        handler: |route| route.to(providers::login),
        docs: Docs {
            tag: "auth",
            summary: "Redirects a browser to the identity provider `provider`. `redirect_uri`, \
                      `code_challenge` and `state` identify the client.",
            request: Some(wire::<providers::LoginQuery>),
            answer: ResponseDoc::Redirect,
            refusals: &[(
                400,
                "`invalid_redirect_uri`, `code_challenge_required`, `code_challenge_invalid`, \
                 `code_challenge_unexpected`, `unknown_provider`, `provider_not_configured` or \
                 `validation_failed`.",
            )],
        },
    }
}

fn callback() -> Route {
    Route {
        path: "/auth/callback",
        handler: |route| route.to(providers::callback),
        docs: Docs {
            summary: "Completes a sign-in at an identity provider, and redirects to \
                      `redirect_uri` with `code` or `error`. Without `redirect_uri` it returns \
                      tokens.",
            request: Some(wire::<providers::CallbackQuery>),
            answer: ResponseDoc::JsonOrRedirect(wire::<SignInResponse>),
            refusals: &[
                (400, "The browser has no such sign-in in progress: `invalid_state`."),
                (409, "Another account has this email address: `email_exists`."),
                (502, "The provider failed: `provider_unreachable` or `provider_error`."),
            ],
            ..login().docs
        },
        ..login()
    }
}

fn token() -> Route {
    Route {
        method: Method::POST,
        path: "/auth/token",
        body_limit: 256 * KIB,
        handler: |route| route.to(providers::token),
        docs: Docs {
            summary: "Exchanges the one-time code of a sign-in for tokens.",
            request: Some(wire::<providers::TokenRequest>),
            answer: ResponseDoc::Json(wire::<SignInResponse>),
            refusals: &[(400, "The code or its verifier is invalid or expired: `invalid_grant`.")],
            ..login().docs
        },
        ..login()
    }
}
