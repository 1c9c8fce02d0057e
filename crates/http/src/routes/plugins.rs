//! Routes of plugins, their files and the certificates of their signers.

use actix_web::http::Method;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route, wire,
};

use super::client_policies::{admin_docs, proved, read, write};
use super::{KIB, MIB};
use crate::admin::{certificates as trust, personas, plugins as admin};
use crate::{auth, certificates, plugins};

const PLUGINS: &str = "/api/admin/plugins";
const PLUGIN: &str = "/api/admin/plugins/{id}";
const GROUPS: &str = "/api/admin/plugins/{id}/groups";
const ICON: &str = "/api/admin/plugins/{id}/icon";
/// Maximum size of a package: a quarter of the default `Server:MaxBodyMemory`
/// must hold it.
const MAX_PACKAGE_BYTES: usize = 50 * MIB;
const UNKNOWN: (u16, &str) = (404, "There is no such plugin: `not_found`.");
const BUILT_IN: (u16, &str) = (409, "The plugin is part of the client: `builtin_plugin`.");
const STALE: (u16, &str) =
    (412, "The plugin is not the version that `If-Match` names: `precondition_failed`.");

pub(super) fn routes() -> Vec<Route> {
    vec![
        trusted(),
        package(),
        icon(),
        list(),
        show(),
        groups(),
        create(),
        replace(),
        delete(),
        assign(),
        upload_package(),
        upload_icon(),
        remove_icon(),
        certificates(),
        add_certificate(),
        remove_certificate(),
    ]
}

fn trusted() -> Route {
    Route {
        method: Method::GET,
        path: "/api/certificates/trusted",
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
        handler: |route| route.to(certificates::trusted),
        docs: Docs {
            tag: "utility",
            summary: "Lists the certificates of trusted plugin signers.",
            request: None,
            answer: ResponseDoc::List(wire::<certificates::CertificateResponse>),
            refusals: &[],
        },
    }
}

fn package() -> Route {
    Route {
        path: "/api/plugins/{pluginId}/cab",
        handler: |route| route.to(plugins::package),
        docs: Docs {
            tag: "utility",
            summary: "Downloads the package of a plugin, or a range of it.",
            request: None,
            answer: ResponseDoc::Other("application/vnd.ms-cab-compressed"),
            refusals: &[
                (304, "The client has the package already."),
                (404, "The caller has no such plugin, or it has no package: `not_found`."),
                (416, "The package is shorter than the range."),
            ],
        },
        ..trusted()
    }
}

fn icon() -> Route {
    Route {
        path: "/api/plugins/{pluginId}/icon",
        handler: |route| route.to(plugins::icon),
        docs: Docs {
            tag: "utility",
            summary: "Returns the icon of a plugin.",
            request: None,
            answer: ResponseDoc::Other("image/png"),
            refusals: &[(404, "The caller has no such plugin, or it has no icon: `not_found`.")],
        },
        ..trusted()
    }
}

fn list() -> Route {
    let answer = ResponseDoc::List(wire::<admin::PluginListItem>);
    let docs = admin_docs("Lists the plugins: built-in ones, then by name.", None, answer, &[]);
    read(PLUGINS, docs, |route| route.to(admin::list))
}

fn show() -> Route {
    let answer = ResponseDoc::Json(wire::<admin::PluginResponse>);
    let docs = admin_docs("Returns a plugin.", None, answer, &[UNKNOWN]);
    read(PLUGIN, docs, |route| route.to(admin::show))
}

fn groups() -> Route {
    let answer = ResponseDoc::List(wire::<personas::EntryId>);
    let docs = admin_docs("Lists the ids of a plugin's groups.", None, answer, &[UNKNOWN]);
    read(GROUPS, docs, |route| route.to(admin::groups))
}

fn create() -> Route {
    let docs = admin_docs(
        "Creates a plugin.",
        Some(wire::<admin::PluginRequest>),
        ResponseDoc::Created(wire::<admin::PluginCreated>),
        &[],
    );
    proved(write(Method::POST, PLUGINS, docs, 512 * KIB, |route| route.to(admin::create)))
}

fn replace() -> Route {
    let docs = admin_docs(
        "Replaces the contents of a plugin.",
        Some(wire::<admin::PluginRequest>),
        ResponseDoc::Json(wire::<auth::Done>),
        &[UNKNOWN, STALE],
    );
    proved(write(Method::PUT, PLUGIN, docs, 512 * KIB, |route| route.to(admin::replace)))
}

fn delete() -> Route {
    let answer = ResponseDoc::Json(wire::<auth::Done>);
    let docs = admin_docs("Deletes a plugin and its files.", None, answer, &[UNKNOWN, BUILT_IN]);
    proved(write(Method::DELETE, PLUGIN, docs, KIB, |route| route.to(admin::delete)))
}

fn assign() -> Route {
    let docs = admin_docs(
        "Assigns a plugin to exactly these groups.",
        Some(wire::<personas::EntryGroupsRequest>),
        ResponseDoc::Json(wire::<auth::Done>),
        &[UNKNOWN, BUILT_IN],
    );
    write(Method::PUT, GROUPS, docs, 512 * KIB, |route| route.to(admin::assign))
}

fn upload_package() -> Route {
    let docs = admin_docs(
        "Stores a signed cabinet as the package of a plugin.",
        None,
        ResponseDoc::Json(wire::<admin::PackageResponse>),
        &[(400, "The signer is not trusted: `untrusted_signer`."), UNKNOWN, BUILT_IN],
    );
    proved(write(
        Method::PUT,
        "/api/admin/plugins/{id}/package",
        docs,
        MAX_PACKAGE_BYTES,
        |route| route.to(admin::upload_package),
    ))
}

fn upload_icon() -> Route {
    let answer = ResponseDoc::Json(wire::<auth::Done>);
    let summary = "Stores a PNG, JPEG, GIF, BMP or ICO image as the icon of a plugin.";
    let docs = admin_docs(summary, None, answer, &[UNKNOWN, BUILT_IN]);
    write(Method::PUT, ICON, docs, MIB, |route| route.to(admin::upload_icon))
}

fn remove_icon() -> Route {
    let answer = ResponseDoc::Json(wire::<auth::Done>);
    let docs = admin_docs("Removes the icon of a plugin.", None, answer, &[UNKNOWN, BUILT_IN]);
    write(Method::DELETE, ICON, docs, KIB, |route| route.to(admin::remove_icon))
}

fn certificates() -> Route {
    let answer = ResponseDoc::List(wire::<certificates::CertificateResponse>);
    let docs = admin_docs("Lists the certificates of trusted signers, by name.", None, answer, &[]);
    read("/api/admin/certificates", docs, |route| route.to(certificates::trusted))
}

fn add_certificate() -> Route {
    let docs = admin_docs(
        "Adds a certificate to the trusted signers.",
        Some(wire::<trust::CertificateRequest>),
        ResponseDoc::Created(wire::<certificates::CertificateResponse>),
        &[(409, "The certificate is trusted already: `certificate_known`.")],
    );
    proved(write(Method::POST, "/api/admin/certificates", docs, 64 * KIB, |route| {
        route.to(trust::add)
    }))
}

fn remove_certificate() -> Route {
    let answer = ResponseDoc::Json(wire::<auth::Done>);
    let unknown = &[(404, "There is no such certificate: `not_found`.")];
    let docs = admin_docs("Removes a certificate from the trusted signers.", None, answer, unknown);
    proved(write(Method::DELETE, "/api/admin/certificates/{id}", docs, KIB, |route| {
        route.to(trust::remove)
    }))
}
