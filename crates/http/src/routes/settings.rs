//! Routes of settings that administrators change while the server runs.

use actix_web::http::Method;
use pia_web::{ResponseDoc, Route, wire};

use super::KIB;
use super::client_policies::{admin_docs, open_to_unverified, proved, read, write};
use crate::admin::settings;
use crate::auth;

const SETTING: &str = "/api/admin/settings/{key}";
const UNKNOWN: (u16, &str) =
    (404, "There is no such setting that takes effect without a restart: `not_found`.");

pub(super) fn routes() -> Vec<Route> {
    open_to_unverified(vec![list(), change(), reset()])
}

fn list() -> Route {
    let answer = ResponseDoc::List(wire::<settings::SettingResponse>);
    let docs = admin_docs("Lists the settings in force, with their sources.", None, answer, &[]);
    read("/api/admin/settings", docs, |route| route.to(settings::list))
}

fn change() -> Route {
    let docs = admin_docs(
        "Changes a setting on all instances.",
        Some(wire::<settings::SettingRequest>),
        ResponseDoc::Json(wire::<auth::Done>),
        &[UNKNOWN],
    );
    with_any_licence(proved(write(Method::PUT, SETTING, docs, 128 * KIB, |it| {
        it.to(settings::change)
    })))
}

fn reset() -> Route {
    let docs = admin_docs(
        "Restores the configured value of a setting.",
        None,
        ResponseDoc::Json(wire::<auth::Done>),
        &[UNKNOWN],
    );
    with_any_licence(proved(write(Method::DELETE, SETTING, docs, KIB, |it| it.to(settings::reset))))
}

/// Removes the requirement of a feature: the server is configured with any licence.
fn with_any_licence(route: Route) -> Route {
    Route { feature: None, ..route }
}
