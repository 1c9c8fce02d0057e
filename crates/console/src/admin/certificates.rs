//! Certificates of the trusted signers of plugins.

use pia_kernel::CertificateId;
use pia_policy::TrustedCertificate;
use pia_web::{ApiError, PathId, Route};

use super::bindings::time_cell;
use super::policies::licensed_form;
use crate::page_context::{PageContext, PageResult};
use crate::proof::ProvedForm;
use crate::routes::pages::page;
use crate::texts::common;
use crate::ui::{Cell, Field, Form, Row, Section, Text, View};

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/admin/certificates", |it| it.to(list)),
        licensed_form("/admin/certificates", |it| it.to(add)),
        page("/admin/certificates/{id}", |it| it.to(show)),
        licensed_form("/admin/certificates/{id}/remove", |it| it.to(remove)),
    ]
}

async fn list(page: PageContext) -> PageResult {
    let view = list_view(&page, "", "").await?;
    Ok(page.render(view))
}

async fn add(page: PageContext, ProvedForm(form): ProvedForm) -> PageResult {
    let by = page.user();
    let name = form.some("name");
    let file = form.some("certificate").map(String::into_bytes);
    match page.run(|api| async move { api.certificates.add(by, name, file).await }).await {
        Ok(_) => page.done("admin/certificates", "created"),
        Err(err) => {
            let view = list_view(&page, form.text("name"), form.text("certificate")).await?;
            page.refuse(view, err)
        }
    }
}

async fn show(page: PageContext, PathId(id): PathId) -> PageResult {
    let view = certificate_view(&page, CertificateId(id)).await?;
    Ok(page.render(view))
}

async fn remove(page: PageContext, PathId(id): PathId, _: ProvedForm) -> PageResult {
    let by = page.user();
    let id = CertificateId(id);
    match page.run(|api| async move { api.certificates.remove(by, id).await }).await {
        Ok(()) => page.done("admin/certificates", "deleted"),
        Err(err) => page.refuse(certificate_view(&page, id).await?, err),
    }
}

async fn list_certificates(page: &PageContext) -> Result<Vec<TrustedCertificate>, ApiError> {
    page.run(|api| async move { api.certificates.list().await }).await
}

async fn list_view(page: &PageContext, name: &str, pem: &str) -> Result<View, ApiError> {
    let row = |it: TrustedCertificate| {
        Row::new(vec![
            Cell::link(&it.name, format!("admin/certificates/{}", it.id)),
            Cell::text(&it.thumbprint),
            time_cell(page, it.updated_at),
        ])
        .key(it.id.to_string())
    };

    let columns = [("name", common::NAME), ("thumbprint", THUMBPRINT), ("added", ADDED)];
    let rows = list_certificates(page).await?.into_iter().map(row).collect();
    let table = page.list(TITLE, EMPTY, &columns, rows);

    let name = Field::text("name", page.t(common::NAME), name).hint(page.t(NAME_HINT));
    let pem = Field::lines("certificate", page.t(CERTIFICATE), pem);
    let add = Form::new("admin/certificates", page.t(ADD))
        .field(pem.hint(page.t(CERTIFICATE_HINT)))
        .field(name.optional());

    Ok(View::new(page.t(TITLE))
        .intro(page.t(INTRO))
        .section(Section::new("certificates", "").table(table))
        .section(Section::new("add", page.t(ADD)).intro(page.t(ADD_HINT)).form(add)))
}

async fn certificate_view(page: &PageContext, id: CertificateId) -> Result<View, ApiError> {
    let certificate = list_certificates(page)
        .await?
        .into_iter()
        .find(|it| it.id == id)
        .ok_or_else(ApiError::not_found)?;
    let facts = [
        (page.t(THUMBPRINT), Cell::text(&certificate.thumbprint)),
        (page.t(ADDED), time_cell(page, certificate.updated_at)),
    ];

    let remove = Form::new(format!("admin/certificates/{id}/remove"), page.t(REMOVE)).danger();
    Ok(View::new(&certificate.name)
        .below(page.t(TITLE), "admin/certificates")
        .section(Section::new("certificate", "").facts(facts))
        .section(Section::new("remove", page.t(REMOVE)).intro(page.t(REMOVE_HINT)).form(remove)))
}

const TITLE: Text = Text::new("Plugin signers", "Plugin-Signierer");
const INTRO: Text = Text::new(
    "Plugin packages must be signed with one of these certificates. Apps do not start any others.",
    "Plugin-Pakete müssen mit einem dieser Zertifikate signiert sein. Andere starten die Apps \
     nicht.",
);
const EMPTY: Text = Text::new(
    "No signer is trusted yet. Add the certificate of whoever signs your plugins.",
    "Noch ist kein Signierer vertrauenswürdig. Fügen Sie das Zertifikat der Stelle hinzu, die \
     Ihre Plugins signiert.",
);
const THUMBPRINT: Text = Text::new("SHA-1 thumbprint", "SHA-1-Fingerabdruck");
const ADDED: Text = Text::new("Added", "Hinzugefügt");
const ADD: Text = Text::new("Add signer", "Signierer hinzufügen");
const ADD_HINT: Text = Text::new(
    "You vouch for the holder: code that they sign runs on the devices of members. The server \
     checks neither the expiry nor the issuer of the certificate.",
    "Sie bürgen für den Inhaber: Von ihm signierter Code läuft auf den Geräten der Mitglieder. \
     Der Server prüft weder Ablauf noch Aussteller des Zertifikats.",
);
const NAME_HINT: Text = Text::new(
    "If empty, the name in the certificate is used.",
    "Ohne Angabe wird der Name im Zertifikat verwendet.",
);
const CERTIFICATE: Text = Text::new("Certificate", "Zertifikat");
const CERTIFICATE_HINT: Text = Text::new(
    "X.509 as PEM: the text from BEGIN CERTIFICATE to END CERTIFICATE.",
    "X.509 als PEM: der Text von BEGIN CERTIFICATE bis END CERTIFICATE.",
);
const REMOVE: Text = Text::new("Remove signer", "Signierer entfernen");
const REMOVE_HINT: Text = Text::new(
    "Plugins that this signer signed stay, but apps no longer start them.",
    "Plugins dieses Signierers bleiben erhalten, aber die Apps starten sie nicht mehr.",
);
