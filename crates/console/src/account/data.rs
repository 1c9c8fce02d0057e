//! Export and deletion of one's own data.

use actix_web::http::header::SET_COOKIE;
use actix_web::web::Data;
use pia_identity::{DeletionRequest, ReauthProof};
use pia_web::{ApiError, Gates, Route};

use super::owner_proofs::OwnerProofs;
use super::security::links;
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::{account_form, account_page};
use crate::ui::{Cell, Field, Form, Section, Text, View, format};

const PATH: &str = "account/data";

pub(super) fn routes() -> Vec<Route> {
    vec![
        account_page("/account/data", |it| it.to(show)),
        account_page("/account/data/export", |it| it.to(pia_http::export_account)),
        account_page("/account/data/delete", |it| it.to(show_deletion)),
        account_form("/account/data/delete", |it| it.to(delete)),
    ]
}

async fn show(page: PageContext) -> PageResult {
    let user = page.user();
    let storage = page.run(|api| async move { api.sync.support.storage(user).await }).await?;
    let size = |bytes| format::bytes(page.language, bytes);
    let usage = page.fill(STORED, &[&size(storage.current), &size(storage.limit)]);
    let usage_cell = Cell::text(usage).detail(page.t(STORED_DETAIL));
    let view = View::new(page.t(TITLE))
        .section(Section::new("storage", "").facts([(page.t(STORAGE), usage_cell)]))
        .section(
            Section::new("export", page.t(EXPORT))
                .intro(page.t(EXPORT_HINT))
                .part(links(&page, &[(DOWNLOAD, "account/data/export")])),
        )
        .section(
            Section::new("delete", page.t(DELETE_TITLE))
                .intro(page.t(DELETE_SHORT))
                .part(links(&page, &[(TO_DELETION, "account/data/delete")])),
        );

    Ok(page.render(view))
}

async fn show_deletion(page: PageContext) -> PageResult {
    let view = deletion_view(&page, OwnerProofs::load(&page).await?);
    Ok(page.render(view))
}

async fn delete(page: PageContext, form: FormFields, gates: Data<Gates>) -> PageResult {
    let proofs = OwnerProofs::load(&page).await?;
    if let Err(err) = delete_account(&page, proofs, &form).await {
        return page.refuse_typed(deletion_view(&page, proofs), &form, err);
    }

    let mut response = page.redirect("account/login?done=account-deleted")?;
    let cookie = gates.console_cookie.clear().parse().map_err(ApiError::internal)?;
    response.headers_mut().append(SET_COOKIE, cookie);

    Ok(response)
}

/// Deletes the account. The form of one with a password must contain a proof.
async fn delete_account(
    page: &PageContext,
    proofs: OwnerProofs,
    form: &FormFields,
) -> Result<(), ApiError> {
    if proofs.has_password {
        proofs.require(page, form)?;
    }
    let caller = page.caller;
    let request = deletion_request(proofs, form);
    page.run(|api| async move { api.identity.deletion.delete(caller, request).await }).await
}

fn deletion_request(proofs: OwnerProofs, form: &FormFields) -> DeletionRequest {
    let confirm = form.some("confirm");
    match proofs.parse(form) {
        None => DeletionRequest { confirm, ..DeletionRequest::default() },
        Some(ReauthProof::Password(password)) => {
            DeletionRequest { confirm, password: Some(password), factor: None }
        }
        Some(ReauthProof::Factor(factor)) => {
            DeletionRequest { confirm, password: None, factor: Some(factor) }
        }
    }
}

fn deletion_view(page: &PageContext, proofs: OwnerProofs) -> View {
    let form = Form::new("account/data/delete", page.t(DELETE)).danger().field(Field::text(
        "confirm",
        page.t(CONFIRM),
        "",
    ));
    View::new(page.t(DELETE_TITLE))
        .below(page.t(TITLE), PATH)
        .intro(page.t(DELETE_HINT))
        .section(Section::new("delete", "").form(proofs.with_password(page, form)))
}

const TITLE: Text = Text::new("Your data", "Ihre Daten");
const STORAGE: Text = Text::new("Storage", "Speicher");
const STORED: Text = Text::new("{} of {}", "{} von {}");
const STORED_DETAIL: Text =
    Text::new("Chats and synchronised data", "Chats und synchronisierte Daten");
const EXPORT: Text = Text::new("Download your data", "Ihre Daten herunterladen");
const EXPORT_HINT: Text = Text::new(
    "A ZIP archive of JSON files with everything that this server stores about you. End-to-end \
     encrypted data stays encrypted.",
    "Ein ZIP-Archiv aus JSON-Dateien mit allem, was dieser Server über Sie speichert. \
     Ende-zu-Ende-verschlüsselte Daten bleiben verschlüsselt.",
);
const DOWNLOAD: Text = Text::new("Download ZIP archive", "ZIP-Archiv herunterladen");
const DELETE_TITLE: Text = Text::new("Delete your account", "Ihr Konto löschen");
const DELETE_SHORT: Text = Text::new(
    "Your account and all its data are deleted for good.",
    "Ihr Konto und alle seine Daten werden endgültig gelöscht.",
);
const TO_DELETION: Text = Text::new("Delete account", "Konto löschen");
const DELETE_HINT: Text = Text::new(
    "Your chats, synchronised data, keys, app passwords and API keys are deleted at once, and all \
     your devices are signed out. This can’t be undone. Download your data first if you want to \
     keep it.",
    "Ihre Chats, synchronisierten Daten, Schlüssel, App-Passwörter und API-Schlüssel werden sofort \
     gelöscht, und alle Ihre Geräte werden abgemeldet. Das lässt sich nicht rückgängig machen. \
     Laden Sie Ihre Daten vorher herunter, wenn Sie sie behalten möchten.",
);
const CONFIRM: Text = Text::new("Type DELETE to confirm", "Geben Sie zur Bestätigung DELETE ein");
const DELETE: Text = Text::new("Delete my account for good", "Mein Konto endgültig löschen");
