//! Routes of end-to-end encryption: devices.

use actix_web::http::Method;
use pia_policy::Feature;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, Docs, Document, Licensing, PaidBy,
    RateLimit, ResponseDoc, Route, wire,
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
        payer: PaidBy::Caller,
        document: Document::Public,
        charge: RateLimit::AtGate(Budget::Global),
        body_limit: 0,
        handler: |route| route.to(e2ee::status),
        docs: Docs {
            tag: "e2ee",
            summary: "Says whether the account is end-to-end encrypted.",
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
        payer: PaidBy::Caller,
        document: Document::Public,
        charge: RateLimit::AtGate(Budget::Global),
        body_limit: 16 * KIB,
        handler: |route| route.to(e2ee::register),
        docs: Docs {
            tag: "e2ee",
            summary: "Registers a device, which then asks to be let in for ten minutes.",
            request: Some(wire::<e2ee::DeviceRegistrationRequest>),
            answer: ResponseDoc::Json(wire::<e2ee::DeviceRegistrationResponse>),
            refusals: &[
                (400, "A value is wrong: `validation_failed`."),
                (
                    409,
                    "There are fifty devices already: `device_limit_reached`. The device is active with other keys: `device_keys_differ`.",
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
        payer: PaidBy::Caller,
        document: Document::Public,
        charge: RateLimit::AtGate(Budget::Global),
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
        payer: PaidBy::Caller,
        document: Document::Public,
        charge: RateLimit::AtGate(Budget::Global),
        body_limit: 0,
        handler: |route| route.to(e2ee::device_status),
        docs: Docs {
            tag: "e2ee",
            summary: "Says whether a device was let in.",
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
        payer: PaidBy::Caller,
        document: Document::Public,
        charge: RateLimit::AtGate(Budget::Global),
        body_limit: 16 * KIB,
        handler: |route| route.to(e2ee::approve),
        docs: Docs {
            tag: "e2ee",
            summary: "Lets a device in, by the signature of another.",
            request: Some(wire::<e2ee::DeviceApprovalRequest>),
            answer: ResponseDoc::Json(wire::<auth::Done>),
            refusals: &[
                (
                    400,
                    "A value is wrong: `validation_failed`. The session is over, spent or another device's: `invalid_onboarding_session`. The signature is wrong: `invalid_signature`.",
                ),
                (403, "The approving device is not active: `device_not_active`."),
                (404, "The caller has no such device to let in: `not_found`."),
                (409, "It does not ask to be let in: `device_not_pending`."),
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
        payer: PaidBy::Caller,
        document: Document::Public,
        charge: RateLimit::AtGate(Budget::Global),
        // Not read: some clients send an empty object with every request.
        body_limit: KIB,
        handler: |route| route.to(e2ee::revoke),
        docs: Docs {
            tag: "e2ee",
            summary: "Turns a device away, whether it was let in or asks for it.",
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
        payer: PaidBy::Caller,
        document: Document::Public,
        charge: RateLimit::AtGate(Budget::Global),
        body_limit: 0,
        handler: |route| route.to(e2ee::wrapped_umk),
        docs: Docs {
            tag: "e2ee",
            summary: "Gives the account's key as it was wrapped for a device.",
            request: None,
            answer: ResponseDoc::Json(wire::<e2ee::WrappedUmkResponse>),
            refusals: &[(404, "The caller has no such device, or it was not let in: `not_found`.")],
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
        payer: PaidBy::Caller,
        document: Document::Public,
        charge: RateLimit::AtGate(Budget::Global),
        body_limit: 16 * KIB,
        handler: |route| route.to(e2ee::store_wrapped_umk),
        docs: Docs {
            tag: "e2ee",
            summary: "Stores the account's key as a device wrapped it for itself. The first encrypts the account.",
            request: Some(wire::<e2ee::WrappedUmkRequest>),
            answer: ResponseDoc::Json(wire::<auth::Done>),
            refusals: &[
                (400, "A value is wrong: `validation_failed`."),
                (
                    403,
                    "The device was not let in: `device_not_active`. It is the first since a reset, and no proof of the owner was sent: `fresh_sign_in_required`.",
                ),
                (404, "The caller has no such device: `not_found`."),
            ],
        },
    }
}
