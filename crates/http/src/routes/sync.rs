//! Routes of synchronisation.

use actix_web::http::Method;
use pia_policy::Feature;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, Docs, Document, Licensing, PaidBy,
    RateLimit, ResponseDoc, Route, wire,
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
            summary: "Answers what changed since the caller last looked.",
            request: Some(wire::<sync::SyncPullQuery>),
            answer: ResponseDoc::Json(wire::<sync::SyncPullResponse>),
            refusals: &[
                (304, "Nothing has changed since what `If-None-Match` names."),
                (400, "`since` is missing, or the query says what it must not; see `errors`."),
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
        payer: PaidBy::Caller,
        document: Document::Public,
        charge: RateLimit::AtGate(Budget::Sync),
        body_limit: 32 * MIB,
        handler: |route| route.to(sync::push),
        docs: Docs {
            tag: "sync",
            summary: "Takes what a device changed, all in one transaction.",
            request: Some(wire::<sync::SyncPushRequest>),
            answer: ResponseDoc::Json(wire::<sync::SyncPushResponse>),
            refusals: &[
                (403, "The account takes only what is end-to-end encrypted: `e2ee_required`."),
                (409, "There would be too many of one kind: `quota_exceeded`."),
            ],
        },
    }
}

fn status() -> Route {
    read_only(Route {
        path: "/api/sync/status",
        handler: |route| route.to(sync::status),
        docs: Docs {
            summary: "Tells how the caller's data stands.",
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
            summary: "Lists what was done to the caller's data, the latest first.",
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
            summary: "Tells how much the caller has of each kind and how many bytes, and may have.",
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
            summary: "Lists everything that is kept for the caller, without what it says.",
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
            summary: "Takes away everything that is synchronised for the caller, chats and keys \
                      of end-to-end encryption included.",
            request: Some(wire::<auth::mfa::FreshProofRequest>),
            answer: ResponseDoc::Json(wire::<sync::SyncResetResponse>),
            refusals: &[
                (400, "More than one proof is sent: `validation_failed`."),
                (
                    403,
                    "The proof is wrong: `invalid_proof`. None is sent, and the session is older than ten minutes: `fresh_sign_in_required`.",
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
