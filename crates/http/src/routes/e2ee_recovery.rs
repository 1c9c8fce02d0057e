//! Routes of end-to-end encryption: recovery.

use actix_web::http::Method;
use pia_policy::Feature;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route, wire,
};

use super::KIB;
use crate::{auth, e2ee};

pub(super) fn routes() -> Vec<Route> {
    vec![find(), store(), put_proof_key(), activate()]
}

fn find() -> Route {
    Route {
        method: Method::GET,
        path: "/api/e2ee/recovery/wrapped-umk",
        access: Access::Bearer,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Complete,
        feature: Some(Feature::E2ee),
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        body_limit: 0,
        handler: |route| route.to(e2ee::recovery),
        docs: Docs {
            tag: "e2ee",
            summary: "Returns the recovery copy of the account's key.",
            request: None,
            answer: ResponseDoc::Json(wire::<e2ee::RecoveryWrappedUmkResponse>),
            refusals: &[(404, "There is no recovery copy: `recovery_not_set_up`.")],
        },
    }
}

fn store() -> Route {
    Route {
        method: Method::POST,
        path: "/api/e2ee/recovery/wrapped-umk",
        access: Access::Bearer,
        licensing: Licensing::InForce,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Complete,
        feature: Some(Feature::E2ee),
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        body_limit: 16 * KIB,
        handler: |route| route.to(e2ee::store_recovery),
        docs: Docs {
            tag: "e2ee",
            summary: "Stores or replaces the recovery copy of the account's key.",
            request: Some(wire::<e2ee::RecoveryWrappedUmkRequest>),
            answer: ResponseDoc::Json(wire::<auth::Done>),
            refusals: &[
                (400, "A value is invalid: `validation_failed`."),
                (
                    403,
                    "The caller has no active device: `device_not_active`. Or `umkVersion` is \
                     raised and the request has no proof: `fresh_sign_in_required`.",
                ),
                (409, "The copy is locked by a proof key: `recovery_key_locked`."),
            ],
        },
    }
}

fn put_proof_key() -> Route {
    Route {
        method: Method::PUT,
        path: "/api/e2ee/recovery/proof-key",
        access: Access::Bearer,
        licensing: Licensing::InForce,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Complete,
        feature: Some(Feature::E2ee),
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        body_limit: 16 * KIB,
        handler: |route| route.to(e2ee::put_proof_key),
        docs: Docs {
            tag: "e2ee",
            summary: "Locks the recovery copy with a proof key for good. The same key may be \
                      stored again.",
            request: Some(wire::<e2ee::RecoveryProofKeyRequest>),
            answer: ResponseDoc::Nothing,
            refusals: &[
                (400, "The proof key is invalid: `invalid_proof_key`."),
                (
                    403,
                    "The caller has no active device: `device_not_active`. Or the key is the \
                     first one and the request has no proof: `fresh_sign_in_required`.",
                ),
                (
                    409,
                    "There is no recovery copy: `recovery_not_set_up`. Or another key is \
                     stored: `proof_key_conflict`.",
                ),
            ],
        },
    }
}

fn activate() -> Route {
    Route {
        method: Method::POST,
        path: "/api/e2ee/recovery/activate",
        access: Access::Bearer,
        licensing: Licensing::InForce,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Complete,
        feature: Some(Feature::E2ee),
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        body_limit: 16 * KIB,
        handler: |route| route.to(e2ee::activate),
        docs: Docs {
            tag: "e2ee",
            summary: "Activates a device that opened the recovery copy.",
            request: Some(wire::<e2ee::RecoveryActivationRequest>),
            answer: ResponseDoc::Json(wire::<auth::Done>),
            refusals: &[
                (
                    400,
                    "A value is invalid: `validation_failed`. The onboarding session has \
                     expired, was used or is another device's: `invalid_onboarding_session`. Or \
                     the proof is wrong: `invalid_proof`.",
                ),
                (
                    403,
                    "No proof key is stored and the request has no proof: \
                     `fresh_sign_in_required`.",
                ),
                (404, "The caller has no such pending device: `not_found`."),
                (409, "There is no recovery copy: `recovery_not_set_up`."),
            ],
        },
    }
}
