//! Routes of the audit log.

use pia_web::{ResponseDoc, Route, wire};

use super::client_policies::{admin_docs, read};
use crate::admin::audit;

pub(super) fn routes() -> Vec<Route> {
    vec![list(), export()]
}

fn list() -> Route {
    let docs = admin_docs(
        "Lists the entries of the audit log, newest first.",
        Some(wire::<audit::AuditQuery>),
        ResponseDoc::Page(wire::<audit::AuditPage>),
        &[],
    );
    read("/api/admin/audit", docs, |route| route.to(audit::list))
}

fn export() -> Route {
    let docs = admin_docs(
        "Streams the entries of the audit log, newest first, as lines of JSON.",
        Some(wire::<audit::AuditQuery>),
        ResponseDoc::Other("application/jsonl"),
        &[],
    );
    read("/api/admin/audit/export", docs, |route| route.to(audit::export))
}
