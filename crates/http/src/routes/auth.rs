//! Accounts, signing in, and staying so.

use actix_web::http::Method;
use pia_web::{Access, Answer, Budget, Charge, Docs, Licensing, Route, wire};

use super::KIB;
use crate::auth;

pub(super) fn routes() -> Vec<Route> {
    vec![register(), login(), refresh(), logout(), me(), business_profile()]
}

fn register() -> Route {
    Route {
        method: Method::POST,
        path: "/auth/register",
        access: Access::Anonymous,
        licensing: Licensing::InForce,
        feature: None,
        charge: Charge::AtGate(Budget::Auth),
        body_limit: 256 * KIB,
        handler: |route| route.to(auth::register),
        docs: Docs {
            tag: "auth",
            summary: "Makes an account with a password; sign in with it afterwards.",
            request: Some(wire::<auth::RegisterRequest>),
            answer: Answer::Json(wire::<auth::RegisterResponse>),
            refusals: &[
                (403, "`registration_closed`, or all seats are taken: `user_limit_reached`."),
                (409, "The address has an account: `email_exists`."),
            ],
        },
    }
}

fn login() -> Route {
    Route {
        method: Method::POST,
        path: "/auth/login/local",
        access: Access::Anonymous,
        licensing: Licensing::MayHaveEnded,
        feature: None,
        charge: Charge::AtGate(Budget::LocalAuth),
        body_limit: 256 * KIB,
        handler: |route| route.to(auth::login),
        docs: Docs {
            tag: "auth",
            summary: "Signs in with a password.",
            request: Some(wire::<auth::LoginRequest>),
            answer: Answer::Json(wire::<auth::TokenEnvelope>),
            refusals: &[(
                401,
                "Address and password do not fit: `invalid_credentials`. Or they do, and a second \
                 factor is needed: `mfa_required`, with `mfaToken` and `methods`.",
            )],
        },
    }
}

fn refresh() -> Route {
    Route {
        method: Method::POST,
        path: "/auth/refresh",
        access: Access::Anonymous,
        licensing: Licensing::MayHaveEnded,
        feature: None,
        charge: Charge::InHandler(Budget::Auth),
        body_limit: 256 * KIB,
        handler: |route| route.to(auth::refresh),
        docs: Docs {
            tag: "auth",
            summary: "Spends a refresh token for the next pair of tokens.",
            request: Some(wire::<auth::RefreshRequest>),
            answer: Answer::Json(wire::<auth::RefreshResponse>),
            refusals: &[(401, "The token is not good, or no longer: `invalid_refresh_token`.")],
        },
    }
}

fn logout() -> Route {
    Route {
        method: Method::POST,
        path: "/auth/logout",
        access: Access::Anonymous,
        licensing: Licensing::MayHaveEnded,
        feature: None,
        charge: Charge::InHandler(Budget::Auth),
        body_limit: 256 * KIB,
        handler: |route| route.to(auth::logout),
        docs: Docs {
            tag: "auth",
            summary: "Ends the session of a refresh token.",
            request: Some(wire::<auth::LogoutRequest>),
            answer: Answer::Json(wire::<auth::Done>),
            refusals: &[],
        },
    }
}

fn me() -> Route {
    Route {
        method: Method::GET,
        path: "/auth/me",
        access: Access::Bearer,
        licensing: Licensing::MayHaveEnded,
        feature: None,
        charge: Charge::AtGate(Budget::Auth),
        body_limit: 0,
        handler: |route| route.to(auth::me),
        docs: Docs {
            tag: "auth",
            summary: "Gives the caller's account.",
            request: None,
            answer: Answer::Json(wire::<auth::MeResponse>),
            refusals: &[],
        },
    }
}

fn business_profile() -> Route {
    Route {
        method: Method::POST,
        path: "/auth/business-profile",
        access: Access::Bearer,
        licensing: Licensing::InForce,
        feature: None,
        charge: Charge::AtGate(Budget::Auth),
        body_limit: 256 * KIB,
        handler: |route| route.to(auth::declare),
        docs: Docs {
            tag: "auth",
            summary: "Declares that the caller uses the service as a trader.",
            request: Some(wire::<auth::BusinessProfileRequest>),
            answer: Answer::Json(wire::<auth::Done>),
            refusals: &[],
        },
    }
}
