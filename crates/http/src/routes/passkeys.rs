//! Routes of passkeys.

use actix_web::http::Method;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, Docs, Document, Licensing, PaidBy,
    RateLimit, ResponseDoc, Route, wire,
};

use super::KIB;
use crate::auth::{self, mfa, webauthn};

const OFF: (u16, &str) = (409, "The server's address allows no passkeys: `passkeys_unavailable`.");

pub(super) fn routes() -> Vec<Route> {
    vec![
        begin_registration(),
        complete_registration(),
        list(),
        change(),
        remove(),
        begin_login(),
        complete_login(),
    ]
}

fn begin_registration() -> Route {
    Route {
        method: Method::POST,
        path: "/auth/webauthn/register/begin",
        access: Access::Owner,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Any,
        feature: None,
        payer: PaidBy::Caller,
        document: Document::Public,
        charge: RateLimit::AtGate(Budget::Global),
        body_limit: 64 * KIB,
        handler: |route| route.to(webauthn::begin_registration),
        docs: Docs {
            tag: "auth",
            summary: "Begins to add a passkey, after a fresh proof.",
            request: Some(wire::<mfa::FreshProofRequest>),
            answer: ResponseDoc::Json(wire::<webauthn::RequestedResponse>),
            refusals: &[
                (
                    403,
                    "A wrong proof: `invalid_proof`. An account without password and factor \
                       whose session is not new: `fresh_sign_in_required`.",
                ),
                (409, "`passkeys_unavailable`, or there are 20: `passkey_limit_reached`."),
            ],
        },
    }
}

fn complete_registration() -> Route {
    Route {
        path: "/auth/webauthn/register/complete",
        handler: |route| route.to(webauthn::complete_registration),
        docs: Docs {
            tag: "auth",
            summary: "Adds the passkey that was made, and ends all other sessions.",
            request: Some(wire::<webauthn::PasskeyRegistrationRequest>),
            answer: ResponseDoc::Json(wire::<webauthn::PasskeyItem>),
            refusals: &[
                (400, "The answer is none to what was asked: `invalid_passkey_response`."),
                (409, "`passkeys_unavailable`, or there are 20: `passkey_limit_reached`."),
            ],
        },
        ..begin_registration()
    }
}

fn list() -> Route {
    Route {
        method: Method::GET,
        path: "/auth/webauthn/credentials",
        handler: |route| route.to(webauthn::passkeys),
        docs: Docs {
            tag: "auth",
            summary: "Lists the caller's passkeys.",
            request: None,
            answer: ResponseDoc::Json(wire::<webauthn::PasskeysResponse>),
            refusals: &[],
        },
        ..begin_registration()
    }
}

fn change() -> Route {
    Route {
        method: Method::PATCH,
        path: "/auth/webauthn/credentials/{id}",
        handler: |route| route.to(webauthn::change_passkey),
        docs: Docs {
            tag: "auth",
            summary: "Renames one of the caller's passkeys, or lets it in again that was blocked.",
            request: Some(wire::<webauthn::PasskeyChangeRequest>),
            answer: ResponseDoc::Json(wire::<webauthn::PasskeyItem>),
            refusals: &[
                (403, "The proof is wrong: `invalid_proof`; or `fresh_sign_in_required`."),
                (404, "The caller has no such passkey: `not_found`."),
            ],
        },
        ..begin_registration()
    }
}

fn remove() -> Route {
    Route {
        method: Method::DELETE,
        path: "/auth/webauthn/credentials/{id}",
        handler: |route| route.to(webauthn::remove_passkey),
        docs: Docs {
            tag: "auth",
            summary: "Removes one of the caller's passkeys, and ends all other sessions.",
            request: None,
            answer: ResponseDoc::Json(wire::<auth::Done>),
            refusals: &[(404, "The caller has no such passkey: `not_found`.")],
        },
        ..begin_registration()
    }
}

fn begin_login() -> Route {
    Route {
        path: "/auth/webauthn/login/begin",
        access: Access::Anonymous,
        payer: PaidBy::Address,
        charge: RateLimit::AtGate(Budget::LocalAuth),
        handler: |route| route.to(webauthn::begin_login),
        docs: Docs {
            tag: "auth",
            summary: "Begins to sign in with a passkey; nobody says yet who they are.",
            request: None,
            answer: ResponseDoc::Json(wire::<webauthn::RequestedResponse>),
            refusals: &[OFF],
        },
        ..begin_registration()
    }
}

fn complete_login() -> Route {
    Route {
        path: "/auth/webauthn/login/complete",
        handler: |route| route.to(webauthn::complete_login),
        docs: Docs {
            tag: "auth",
            summary: "Signs in with a passkey.",
            request: Some(wire::<webauthn::PasskeyLoginRequest>),
            answer: ResponseDoc::Json(wire::<auth::SignInResponse>),
            refusals: &[
                (401, "The answer is none of a known passkey to the challenge: `invalid_passkey`."),
                OFF,
            ],
        },
        ..begin_login()
    }
}
