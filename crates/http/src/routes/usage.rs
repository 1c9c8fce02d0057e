//! Routes of what was used.

use pia_identity::Role;
use pia_web::{Access, ResponseDoc, Route, wire};

use super::client_policies::{admin_docs, read};
use crate::admin::usage;

/// Administrators, and managers of organisations for their own group.
const MANAGERS: Access = Access::Console(&[Role::Admin, Role::OrgManager]);

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
    Route { access: MANAGERS, ..read("/api/admin/usage", docs, |route| route.to(usage::list)) }
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
