//! Routes of passwords and addresses, which use emailed links.

use actix_web::http::Method;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route, wire,
};

use super::KIB;
use crate::auth;

pub(super) fn routes() -> Vec<Route> {
    vec![forgot(), reset(), change(), verify(), resend()]
}

fn forgot() -> Route {
    Route {
        method: Method::POST,
        path: "/auth/forgot-password",
        access: Access::Anonymous,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Any,
        feature: None,
        counted_against: CountedAgainst::Address,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Auth),
        body_limit: 256 * KIB,
        handler: |route| route.to(auth::forgot_password),
        docs: Docs {
            tag: "auth",
            summary: "Sends an email with a link to reset the password. The response doesn't \
                      reveal whether the account exists.",
            request: Some(wire::<auth::EmailLinkRequest>),
            answer: ResponseDoc::Json(wire::<auth::EmailLinkResponse>),
            refusals: &[(
                400,
                "The server can't send email: `smtp_not_configured`. Or `email` is missing; see \
                 `errors`.",
            )],
        },
    }
}

fn reset() -> Route {
    Route {
        path: "/auth/reset-password",
        handler: |route| route.to(auth::reset_password),
        docs: Docs {
            tag: "auth",
            summary: "Resets the password with the token from an email, and ends all sessions.",
            request: Some(wire::<auth::ResetPasswordRequest>),
            answer: ResponseDoc::Json(wire::<auth::Done>),
            refusals: &[(
                400,
                "The token is invalid or for another address: `invalid_reset_token`. Or the \
                 password is too weak; see `errors`.",
            )],
        },
        ..forgot()
    }
}

fn change() -> Route {
    Route {
        path: "/auth/password",
        access: Access::Owner,
        counted_against: CountedAgainst::Caller,
        handler: |route| route.to(auth::change_password),
        docs: Docs {
            tag: "auth",
            summary: "Changes the password, and ends all other sessions.",
            request: Some(wire::<auth::ChangePasswordRequest>),
            answer: ResponseDoc::Json(wire::<auth::ChangedPassword>),
            refusals: &[
                (403, "The current password is wrong: `invalid_proof`."),
                (409, "The account has no password: `no_password`."),
            ],
        },
        ..forgot()
    }
}

fn verify() -> Route {
    Route {
        method: Method::GET,
        path: "/auth/verify-email",
        body_limit: 0,
        handler: |route| route.to(auth::verify_email),
        docs: Docs {
            tag: "auth",
            summary: "Verifies an email address with the `userId` and `token` from an email. \
                      Browsers are redirected to a page.",
            request: Some(wire::<auth::VerificationLink>),
            answer: ResponseDoc::JsonOrPage(wire::<auth::Done>),
            refusals: &[(400, "The token is invalid or expired: `invalid_verification_token`.")],
        },
        ..forgot()
    }
}

fn resend() -> Route {
    Route {
        path: "/auth/resend-verification",
        handler: |route| route.to(auth::resend_verification),
        docs: Docs {
            summary: "Sends the verification email again. The response doesn't reveal whether \
                      the account exists.",
            ..forgot().docs
        },
        ..forgot()
    }
}
