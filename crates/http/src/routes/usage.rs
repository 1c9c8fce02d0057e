//! Routes of what was used.

use pia_identity::Role;
use pia_web::{Access, ResponseDoc, Route, wire};

use super::client_policies::{admin_docs, read};
use crate::admin::{usage, usage_hours};

/// Administrators, and managers of organisations for their own group.
const MANAGERS: Access = Access::Console(&[Role::Admin, Role::OrgManager]);

pub(super) fn routes() -> Vec<Route> {
    vec![list(), hours(), export()]
}

fn list() -> Route {
    let docs = admin_docs(
        "Returns calls, tokens and credits by day, group, model or user.",
        Some(wire::<usage::UsageQuery>),
        ResponseDoc::Json(wire::<usage::UsageResponse>),
        &[],
    );
    Route { access: MANAGERS, ..read("/api/admin/usage", docs, |route| route.to(usage::list)) }
}

fn hours() -> Route {
    let docs = admin_docs(
        "Lists the 24 hours of today, each with the sums of its calls.",
        None,
        ResponseDoc::List(wire::<usage_hours::UsageHourItem>),
        &[],
    );
    read("/api/admin/usage/hours", docs, |route| route.to(usage_hours::list))
}

fn export() -> Route {
    let docs = admin_docs(
        "Returns calls, tokens and credits by day, group, model or user, as CSV.",
        Some(wire::<usage::UsageQuery>),
        ResponseDoc::Other("text/csv"),
        &[],
    );
    let route = read("/api/admin/usage/export", docs, |route| route.to(usage::export));
    Route { access: MANAGERS, ..route }
}
