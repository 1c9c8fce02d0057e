//! Routes of end-to-end encryption: recovery.

use actix_web::http::Method;
use pia_policy::Feature;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, Docs, Document, Licensing, PaidBy,
    RateLimit, ResponseDoc, Route, wire,
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
        payer: PaidBy::Caller,
        document: Document::Public,
        charge: RateLimit::AtGate(Budget::Global),
        body_limit: 0,
        handler: |route| route.to(e2ee::recovery),
        docs: Docs {
            tag: "e2ee",
            summary: "Gives the copy of the account's key that the recovery code opens.",
            request: None,
            answer: ResponseDoc::Json(wire::<e2ee::RecoveryWrappedUmkResponse>),
            refusals: &[(404, "There is none: `recovery_not_set_up`.")],
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
        payer: PaidBy::Caller,
        document: Document::Public,
        charge: RateLimit::AtGate(Budget::Global),
        body_limit: 16 * KIB,
        handler: |route| route.to(e2ee::store_recovery),
        docs: Docs {
            tag: "e2ee",
            summary: "Stores that copy, in the place of the one before.",
            request: Some(wire::<e2ee::RecoveryWrappedUmkRequest>),
            answer: ResponseDoc::Json(wire::<auth::Done>),
            refusals: &[
                (400, "A value is wrong: `validation_failed`."),
                (
                    403,
                    "None of the caller's devices is active: `device_not_active`. `umkVersion` is raised, and no proof of the owner was sent: `fresh_sign_in_required`.",
                ),
                (409, "The copy is guarded by a proof key: `recovery_key_locked`."),
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
        payer: PaidBy::Caller,
        document: Document::Public,
        charge: RateLimit::AtGate(Budget::Global),
        body_limit: 16 * KIB,
        handler: |route| route.to(e2ee::put_proof_key),
        docs: Docs {
            tag: "e2ee",
            summary: "Guards that copy for good; the same key may be put again.",
            request: Some(wire::<e2ee::RecoveryProofKeyRequest>),
            answer: ResponseDoc::Nothing,
            refusals: &[
                (400, "It is no proof key: `invalid_proof_key`."),
                (
                    403,
                    "None of the caller's devices is active: `device_not_active`. It is the first, and no proof of the owner was sent: `fresh_sign_in_required`.",
                ),
                (
                    409,
                    "There is no copy: `recovery_not_set_up`. Another key is on file: `proof_key_conflict`.",
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
        payer: PaidBy::Caller,
        document: Document::Public,
        charge: RateLimit::AtGate(Budget::Global),
        body_limit: 16 * KIB,
        handler: |route| route.to(e2ee::activate),
        docs: Docs {
            tag: "e2ee",
            summary: "Lets a device in that opened that copy.",
            request: Some(wire::<e2ee::RecoveryActivationRequest>),
            answer: ResponseDoc::Json(wire::<auth::Done>),
            refusals: &[
                (
                    400,
                    "A value is wrong: `validation_failed`. The session is over, spent or another device's: `invalid_onboarding_session`. The proof is wrong: `invalid_proof`.",
                ),
                (
                    403,
                    "No proof key is on file, and no proof of the owner was sent: `fresh_sign_in_required`.",
                ),
                (
                    404,
                    "The caller has no such device, or it does not ask to be let in: `not_found`.",
                ),
                (409, "There is no copy: `recovery_not_set_up`."),
            ],
        },
    }
}
