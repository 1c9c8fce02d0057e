//! Routes of synchronisation.

use actix_web::http::Method;
use pia_policy::Feature;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route, wire,
};

use super::{KIB, MIB};
use crate::{auth, sync};

pub(super) fn routes() -> Vec<Route> {
    vec![pull(), push(), status(), events(), quota(), debug_state(), reset()]
}

fn pull() -> Route {
    read_only(Route {
        path: "/api/sync/pull",
        handler: |route| route.to(sync::pull),
        docs: Docs {
            tag: "sync",
            summary: "Returns the changes since the last pull.",
            request: Some(wire::<sync::SyncPullQuery>),
            answer: ResponseDoc::Json(wire::<sync::SyncPullResponse>),
            refusals: &[
                (304, "Nothing has changed since the version in `If-None-Match`."),
                (400, "`since` is missing or the query is invalid; see `errors`."),
            ],
        },
        ..push()
    })
}

fn push() -> Route {
    Route {
        method: Method::POST,
        path: "/api/sync/push",
        access: Access::Bearer,
        licensing: Licensing::InForce,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Complete,
        feature: Some(Feature::Sync),
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Sync),
        body_limit: 32 * MIB,
        handler: |route| route.to(sync::push),
        docs: Docs {
            tag: "sync",
            summary: "Stores the changes of a device, all or none.",
            request: Some(wire::<sync::SyncPushRequest>),
            answer: ResponseDoc::Json(wire::<sync::SyncPushResponse>),
            refusals: &[
                (403, "The account accepts only end-to-end encrypted data: `e2ee_required`."),
                (409, "The changes exceed a quota: `quota_exceeded`."),
            ],
        },
    }
}

fn status() -> Route {
    read_only(Route {
        path: "/api/sync/status",
        handler: |route| route.to(sync::status),
        docs: Docs {
            summary: "Returns the state of the caller's synchronised data.",
            request: None,
            answer: ResponseDoc::Json(wire::<sync::SyncStatusResponse>),
            refusals: &[],
            ..push().docs
        },
        ..push()
    })
}

fn events() -> Route {
    read_only(Route {
        path: "/api/sync/events",
        handler: |route| route.to(sync::events),
        docs: Docs {
            summary: "Lists the pushes and resets of the caller's data, newest first.",
            request: None,
            answer: ResponseDoc::Page(wire::<sync::SyncEventsResponse>),
            refusals: &[],
            ..push().docs
        },
        ..push()
    })
}

fn quota() -> Route {
    read_only(Route {
        path: "/api/sync/quota",
        handler: |route| route.to(sync::quota),
        docs: Docs {
            summary: "Returns the quotas of each channel and of storage, and what is used of \
                      them.",
            request: None,
            answer: ResponseDoc::Json(wire::<sync::SyncQuotaResponse>),
            refusals: &[],
            ..push().docs
        },
        ..push()
    })
}

fn debug_state() -> Route {
    read_only(Route {
        path: "/api/sync/debug-state",
        handler: |route| route.to(sync::debug_state),
        docs: Docs {
            summary: "Lists all stored items of the caller without their contents.",
            request: None,
            answer: ResponseDoc::Json(wire::<sync::SyncDebugStateResponse>),
            refusals: &[],
            ..push().docs
        },
        ..push()
    })
}

fn reset() -> Route {
    Route {
        method: Method::DELETE,
        path: "/api/sync/reset",
        access: Access::Owner,
        body_limit: KIB,
        handler: |route| route.to(sync::reset),
        docs: Docs {
            summary: "Deletes all synchronised data of the caller, including chats and \
                      end-to-end encryption keys.",
            request: Some(wire::<auth::mfa::FreshProofRequest>),
            answer: ResponseDoc::Json(wire::<sync::SyncResetResponse>),
            refusals: &[
                (400, "The body has more than one proof: `validation_failed`."),
                (
                    403,
                    "The proof is wrong: `invalid_proof`. Or there is none and the sign-in is \
                     older than ten minutes: `fresh_sign_in_required`.",
                ),
            ],
            ..push().docs
        },
        ..push()
    }
}

/// Returns a route that only reads.
fn read_only(mut route: Route) -> Route {
    route.method = Method::GET;
    route.licensing = Licensing::MayHaveEnded;
    route.body_limit = 0;
    route
}
