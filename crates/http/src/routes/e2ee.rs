//! Routes of end-to-end encryption: devices.

use actix_web::http::Method;
use pia_policy::Feature;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route, wire,
};

use super::KIB;
use crate::{auth, e2ee};

pub(super) fn routes() -> Vec<Route> {
    vec![
        status(),
        register(),
        list(),
        device_status(),
        approve(),
        revoke(),
        wrapped_umk(),
        store_wrapped_umk(),
    ]
}

fn status() -> Route {
    Route {
        method: Method::GET,
        path: "/api/e2ee/status",
        access: Access::Bearer,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Complete,
        feature: None,
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        body_limit: 0,
        handler: |route| route.to(e2ee::status),
        docs: Docs {
            tag: "e2ee",
            summary: "Returns whether the account is end-to-end encrypted.",
            request: None,
            answer: ResponseDoc::Json(wire::<e2ee::E2eeStatusResponse>),
            refusals: &[],
        },
    }
}

fn register() -> Route {
    Route {
        method: Method::POST,
        path: "/api/e2ee/devices/register",
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
        handler: |route| route.to(e2ee::register),
        docs: Docs {
            tag: "e2ee",
            summary: "Registers a device, which can be approved for ten minutes.",
            request: Some(wire::<e2ee::DeviceRegistrationRequest>),
            answer: ResponseDoc::Json(wire::<e2ee::DeviceRegistrationResponse>),
            refusals: &[
                (400, "A value is invalid: `validation_failed`."),
                (
                    409,
                    "The account has the maximum of 50 devices: `device_limit_reached`. Or the \
                     device is active with other keys: `device_keys_differ`.",
                ),
            ],
        },
    }
}

fn list() -> Route {
    Route {
        method: Method::GET,
        path: "/api/e2ee/devices",
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
        handler: |route| route.to(e2ee::devices),
        docs: Docs {
            tag: "e2ee",
            summary: "Lists the caller's devices.",
            request: None,
            answer: ResponseDoc::Json(wire::<e2ee::DeviceListResponse>),
            refusals: &[],
        },
    }
}

fn device_status() -> Route {
    Route {
        method: Method::GET,
        path: "/api/e2ee/devices/{deviceId}/status",
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
        handler: |route| route.to(e2ee::device_status),
        docs: Docs {
            tag: "e2ee",
            summary: "Returns the status of a device.",
            request: None,
            answer: ResponseDoc::Json(wire::<e2ee::DeviceStatusResponse>),
            refusals: &[(404, "The caller has no such device: `not_found`.")],
        },
    }
}

fn approve() -> Route {
    Route {
        method: Method::POST,
        path: "/api/e2ee/devices/approve",
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
        handler: |route| route.to(e2ee::approve),
        docs: Docs {
            tag: "e2ee",
            summary: "Approves a pending device with the signature of an active one.",
            request: Some(wire::<e2ee::DeviceApprovalRequest>),
            answer: ResponseDoc::Json(wire::<auth::Done>),
            refusals: &[
                (
                    400,
                    "A value is invalid: `validation_failed`. The onboarding session has \
                     expired, was used or is another device's: `invalid_onboarding_session`. Or \
                     the signature is wrong: `invalid_signature`.",
                ),
                (403, "The approving device isn't active: `device_not_active`."),
                (404, "The caller has no such pending device: `not_found`."),
                (409, "The device isn't pending: `device_not_pending`."),
            ],
        },
    }
}

fn revoke() -> Route {
    Route {
        method: Method::POST,
        path: "/api/e2ee/devices/{deviceId}/revoke",
        access: Access::Bearer,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Complete,
        feature: Some(Feature::E2ee),
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        // Not read: some clients send an empty object with every request.
        body_limit: KIB,
        handler: |route| route.to(e2ee::revoke),
        docs: Docs {
            tag: "e2ee",
            summary: "Revokes an active or pending device.",
            request: None,
            answer: ResponseDoc::Json(wire::<auth::Done>),
            refusals: &[(404, "The caller has no such device: `not_found`.")],
        },
    }
}

fn wrapped_umk() -> Route {
    Route {
        method: Method::GET,
        path: "/api/e2ee/devices/{deviceId}/wrapped-umk",
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
        handler: |route| route.to(e2ee::wrapped_umk),
        docs: Docs {
            tag: "e2ee",
            summary: "Returns the account's key, wrapped for a device.",
            request: None,
            answer: ResponseDoc::Json(wire::<e2ee::WrappedUmkResponse>),
            refusals: &[(404, "The caller has no such active device: `not_found`.")],
        },
    }
}

fn store_wrapped_umk() -> Route {
    Route {
        method: Method::POST,
        path: "/api/e2ee/devices/{deviceId}/wrapped-umk",
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
        handler: |route| route.to(e2ee::store_wrapped_umk),
        docs: Docs {
            tag: "e2ee",
            summary: "Stores the account's key, wrapped by a device for itself. The first one \
                      enables end-to-end encryption.",
            request: Some(wire::<e2ee::WrappedUmkRequest>),
            answer: ResponseDoc::Json(wire::<auth::Done>),
            refusals: &[
                (400, "A value is invalid: `validation_failed`."),
                (
                    403,
                    "The device isn't active: `device_not_active`. Or it is the first one after \
                     a reset and the request has no proof: `fresh_sign_in_required`.",
                ),
                (404, "The caller has no such device: `not_found`."),
            ],
        },
    }
}
