//! Route of the licence.

use actix_web::http::Method;
use pia_web::{Licensing, ResponseDoc, Route, wire};

use super::KIB;
use super::client_policies::{admin_docs, open_to_unverified, proved, write};
use crate::admin::licence;

pub(super) fn routes() -> Vec<Route> {
    open_to_unverified(vec![replace()])
}

/// An expired licence can be replaced too.
fn replace() -> Route {
    let docs = admin_docs(
        "Replaces the licence, which is in force at once.",
        Some(wire::<licence::LicenceRequest>),
        ResponseDoc::Json(wire::<licence::LicenceResponse>),
        &[(
            400,
            "The licence is not accepted: `license_truncated`, `license_foreign`, \
             `license_forged`, `license_unreadable` or `license_expired`.",
        )],
    );

    let route =
        write(Method::PUT, "/api/admin/license", docs, 128 * KIB, |it| it.to(licence::replace));
    Route { licensing: Licensing::MayHaveEnded, feature: None, ..proved(route) }
}
