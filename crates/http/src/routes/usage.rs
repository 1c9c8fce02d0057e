//! Routes of what was used.

use pia_web::{ResponseDoc, Route, wire};

use super::client_policies::{admin_docs, read};
use crate::admin::usage;

pub(super) fn routes() -> Vec<Route> {
    vec![list(), export()]
}

fn list() -> Route {
    let docs = admin_docs(
        "Returns calls, tokens and credits by day, group, model or user.",
        Some(wire::<usage::UsageQuery>),
        ResponseDoc::Json(wire::<usage::UsageResponse>),
        &[],
    );
    read("/api/admin/usage", docs, |route| route.to(usage::list))
}

fn export() -> Route {
    let docs = admin_docs(
        "Returns calls, tokens and credits by day, group, model or user, as CSV.",
        Some(wire::<usage::UsageQuery>),
        ResponseDoc::Other("text/csv"),
        &[],
    );
    read("/api/admin/usage/export", docs, |route| route.to(usage::export))
}
