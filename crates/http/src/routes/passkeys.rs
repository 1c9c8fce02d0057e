//! Routes of passkeys.

use actix_web::http::Method;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route, wire,
};

use super::KIB;
use crate::auth::{self, mfa, passkeys};

const OFF: (u16, &str) = (
    409,
    "The server's public URL doesn't allow passkeys: \
                                `passkeys_unavailable`.",
);

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
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        body_limit: 64 * KIB,
        handler: |route| route.to(passkeys::begin_registration),
        docs: Docs {
            tag: "auth",
            summary: "Begins the registration of a passkey.",
            request: Some(wire::<mfa::FreshProofRequest>),
            answer: ResponseDoc::Json(wire::<passkeys::PasskeyOptionsResponse>),
            refusals: &[
                (
                    403,
                    "The proof is wrong: `invalid_proof`. Or the account has none and the \
                     sign-in is older than ten minutes: `fresh_sign_in_required`.",
                ),
                (
                    409,
                    "Passkeys aren't available: `passkeys_unavailable`. Or the account has \
                       the maximum of 20: `passkey_limit_reached`.",
                ),
            ],
        },
    }
}

fn complete_registration() -> Route {
    Route {
        path: "/auth/webauthn/register/complete",
        handler: |route| route.to(passkeys::complete_registration),
        docs: Docs {
            tag: "auth",
            summary: "Completes the registration of a passkey, and ends all other sessions.",
            request: Some(wire::<passkeys::PasskeyRegistrationRequest>),
            answer: ResponseDoc::Json(wire::<passkeys::PasskeyItem>),
            refusals: &[
                (400, "The credential doesn't match the challenge: `invalid_passkey_response`."),
                (
                    409,
                    "Passkeys aren't available: `passkeys_unavailable`. Or the account has \
                       the maximum of 20: `passkey_limit_reached`.",
                ),
            ],
        },
        ..begin_registration()
    }
}

fn list() -> Route {
    Route {
        method: Method::GET,
        path: "/auth/webauthn/credentials",
        handler: |route| route.to(passkeys::passkeys),
        docs: Docs {
            tag: "auth",
            summary: "Lists the caller's passkeys.",
            request: None,
            answer: ResponseDoc::Json(wire::<passkeys::PasskeysResponse>),
            refusals: &[],
        },
        ..begin_registration()
    }
}

fn change() -> Route {
    Route {
        method: Method::PATCH,
        path: "/auth/webauthn/credentials/{id}",
        handler: |route| route.to(passkeys::change_passkey),
        docs: Docs {
            tag: "auth",
            summary: "Renames or unblocks one of the caller's passkeys.",
            request: Some(wire::<passkeys::PasskeyChangeRequest>),
            answer: ResponseDoc::Json(wire::<passkeys::PasskeyItem>),
            refusals: &[
                (
                    403,
                    "The proof is wrong: `invalid_proof`. Or a recent sign-in is required: \
                       `fresh_sign_in_required`.",
                ),
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
        handler: |route| route.to(passkeys::remove_passkey),
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
        counted_against: CountedAgainst::Address,
        rate_limit: RateLimit::AtGate(Budget::LocalAuth),
        handler: |route| route.to(passkeys::begin_login),
        docs: Docs {
            tag: "auth",
            summary: "Begins a sign-in with a passkey.",
            request: None,
            answer: ResponseDoc::Json(wire::<passkeys::PasskeyOptionsResponse>),
            refusals: &[OFF],
        },
        ..begin_registration()
    }
}

fn complete_login() -> Route {
    Route {
        path: "/auth/webauthn/login/complete",
        handler: |route| route.to(passkeys::complete_login),
        docs: Docs {
            tag: "auth",
            summary: "Signs in with a passkey.",
            request: Some(wire::<passkeys::PasskeyLoginRequest>),
            answer: ResponseDoc::Json(wire::<auth::SignInResponse>),
            refusals: &[
                (
                    401,
                    "The credential is unknown or doesn't match the challenge: \
                       `invalid_passkey`.",
                ),
                OFF,
            ],
        },
        ..begin_login()
    }
}
