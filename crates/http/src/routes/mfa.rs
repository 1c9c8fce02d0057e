//! Routes of second factors.

use actix_web::http::Method;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, Docs, Document, Licensing, PaidBy,
    RateLimit, ResponseDoc, Route, wire,
};

use super::KIB;
use crate::auth::{self, mfa};

pub(super) fn routes() -> Vec<Route> {
    vec![login(), show(), begin(), verify(), disable(), regenerate()]
}

fn login() -> Route {
    Route {
        method: Method::POST,
        path: "/auth/login/mfa",
        access: Access::Anonymous,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Any,
        feature: None,
        payer: PaidBy::Address,
        document: Document::Public,
        charge: RateLimit::AtGate(Budget::LocalAuth),
        body_limit: 256 * KIB,
        handler: |route| route.to(auth::login_mfa),
        docs: Docs {
            tag: "auth",
            summary: "Goes on with a sign-in that asks for a second factor.",
            request: Some(wire::<auth::MfaLoginRequest>),
            answer: ResponseDoc::Json(wire::<auth::SignInResponse>),
            refusals: &[(
                401,
                "The sign-in is over: `invalid_mfa_token`. The code is wrong: `invalid_mfa_code`.",
            )],
        },
    }
}

fn show() -> Route {
    Route {
        method: Method::GET,
        path: "/auth/mfa",
        access: Access::Bearer,
        body_limit: 0,
        handler: |route| route.to(mfa::show),
        docs: Docs {
            tag: "auth",
            summary: "Tells which factors are on, and how many recovery codes are left.",
            request: None,
            answer: ResponseDoc::Json(wire::<mfa::FactorsResponse>),
            refusals: &[],
        },
        ..begin()
    }
}

fn begin() -> Route {
    Route {
        method: Method::POST,
        path: "/auth/mfa/totp/begin",
        access: Access::Owner,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Any,
        feature: None,
        payer: PaidBy::Caller,
        document: Document::Public,
        charge: RateLimit::AtGate(Budget::Global),
        body_limit: 256 * KIB,
        handler: |route| route.to(mfa::begin),
        docs: Docs {
            tag: "auth",
            summary: "Begins to set an authenticator app up; a code of it puts it on.",
            request: Some(wire::<mfa::TotpBeginRequest>),
            answer: ResponseDoc::Json(wire::<mfa::TotpEnrolment>),
            refusals: &[
                (
                    403,
                    "The password is wrong: `invalid_proof`. The account has none, and the \
                     sign-in is older than ten minutes: `fresh_sign_in_required`.",
                ),
                (409, "A second factor is on: `mfa_already_enabled`."),
            ],
        },
    }
}

fn verify() -> Route {
    Route {
        method: Method::POST,
        path: "/auth/mfa/totp/verify",
        access: Access::Owner,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Any,
        feature: None,
        payer: PaidBy::Caller,
        document: Document::Public,
        charge: RateLimit::AtGate(Budget::Global),
        body_limit: 256 * KIB,
        handler: |route| route.to(mfa::verify),
        docs: Docs {
            tag: "auth",
            summary: "Puts the authenticator app on, and ends all other sessions.",
            request: Some(wire::<mfa::TotpVerifyRequest>),
            answer: ResponseDoc::Json(wire::<mfa::RecoveryCodesResponse>),
            refusals: &[
                (400, "The code is wrong: `invalid_mfa_code`."),
                (409, "None is being set up: `mfa_not_begun`."),
            ],
        },
    }
}

fn disable() -> Route {
    Route {
        method: Method::POST,
        path: "/auth/mfa/disable",
        access: Access::Owner,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Any,
        feature: None,
        payer: PaidBy::Caller,
        document: Document::Public,
        charge: RateLimit::AtGate(Budget::Global),
        body_limit: 256 * KIB,
        handler: |route| route.to(mfa::disable),
        docs: Docs {
            tag: "auth",
            summary: "Takes the second factor off, and ends all other sessions.",
            request: Some(wire::<mfa::FreshProofRequest>),
            answer: ResponseDoc::Json(wire::<auth::Done>),
            refusals: &[
                (403, "What was sent as a proof is wrong: `invalid_proof`."),
                (409, "No second factor is on: `mfa_not_enabled`."),
            ],
        },
    }
}

fn regenerate() -> Route {
    Route {
        method: Method::POST,
        path: "/auth/mfa/recovery-codes/regenerate",
        access: Access::Owner,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Any,
        feature: None,
        payer: PaidBy::Caller,
        document: Document::Public,
        charge: RateLimit::AtGate(Budget::Global),
        body_limit: 256 * KIB,
        handler: |route| route.to(mfa::regenerate),
        docs: Docs {
            tag: "auth",
            summary: "Gives new recovery codes; those before are good no more.",
            request: Some(wire::<mfa::FreshProofRequest>),
            answer: ResponseDoc::Json(wire::<mfa::RecoveryCodesResponse>),
            refusals: &[
                (403, "What was sent as a proof is wrong: `invalid_proof`."),
                (409, "No second factor is on: `mfa_not_enabled`."),
            ],
        },
    }
}
