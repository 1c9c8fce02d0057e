//! Routes of second factors.

use actix_web::http::Method;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route, wire,
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
        counted_against: CountedAgainst::Address,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::LocalAuth),
        body_limit: 256 * KIB,
        handler: |route| route.to(auth::login_mfa),
        docs: Docs {
            tag: "auth",
            summary: "Completes a sign-in with a second factor.",
            request: Some(wire::<auth::MfaLoginRequest>),
            answer: ResponseDoc::Json(wire::<auth::SignInResponse>),
            refusals: &[(
                401,
                "The sign-in has expired: `invalid_mfa_token`. Or the code is wrong: \
                 `invalid_mfa_code`.",
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
            summary: "Returns the enabled factors and the number of unused recovery codes.",
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
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        body_limit: 256 * KIB,
        handler: |route| route.to(mfa::begin),
        docs: Docs {
            tag: "auth",
            summary: "Begins the setup of an authenticator app.",
            request: Some(wire::<mfa::TotpBeginRequest>),
            answer: ResponseDoc::Json(wire::<mfa::TotpEnrolment>),
            refusals: &[
                (
                    403,
                    "The password is wrong: `invalid_proof`. Or the account has none and the \
                     sign-in is older than ten minutes: `fresh_sign_in_required`.",
                ),
                (409, "A second factor is already enabled: `mfa_already_enabled`."),
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
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        body_limit: 256 * KIB,
        handler: |route| route.to(mfa::verify),
        docs: Docs {
            tag: "auth",
            summary: "Enables the authenticator app, and ends all other sessions.",
            request: Some(wire::<mfa::TotpVerifyRequest>),
            answer: ResponseDoc::Json(wire::<mfa::RecoveryCodesResponse>),
            refusals: &[
                (400, "The code is wrong: `invalid_mfa_code`."),
                (409, "No setup is in progress: `mfa_not_begun`."),
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
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        body_limit: 256 * KIB,
        handler: |route| route.to(mfa::disable),
        docs: Docs {
            tag: "auth",
            summary: "Disables the second factor, and ends all other sessions.",
            request: Some(wire::<mfa::FreshProofRequest>),
            answer: ResponseDoc::Json(wire::<auth::Done>),
            refusals: &[
                (403, "The proof is wrong: `invalid_proof`."),
                (409, "No second factor is enabled: `mfa_not_enabled`."),
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
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        body_limit: 256 * KIB,
        handler: |route| route.to(mfa::regenerate),
        docs: Docs {
            tag: "auth",
            summary: "Replaces the recovery codes by new ones.",
            request: Some(wire::<mfa::FreshProofRequest>),
            answer: ResponseDoc::Json(wire::<mfa::RecoveryCodesResponse>),
            refusals: &[
                (403, "The proof is wrong: `invalid_proof`."),
                (409, "No second factor is enabled: `mfa_not_enabled`."),
            ],
        },
    }
}
