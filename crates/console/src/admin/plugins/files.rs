//! Package and icon of a plugin.

use actix_web::web::Bytes;
use pia_kernel::PluginId;
use pia_web::{ApiError, PathId, Route};

use super::super::policies::licensed_form;
use super::finish_change;
use super::view::package_field;
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::proof::ask_for_upload_proof;
use crate::texts::common;
use crate::texts::field_errors::field_error;
use crate::upload::UploadForm;

const MIB: usize = 1024 * 1024;
/// Maximum size of the other parts of a form with a file.
const FIELDS_BYTES: usize = 16 * 1024;
/// Maximum sizes of files, as in the JSON API.
const MAX_PACKAGE_BYTES: usize = 50 * MIB;
const MAX_ICON_BYTES: usize = MIB;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route {
            body_limit: MAX_PACKAGE_BYTES + FIELDS_BYTES,
            ..licensed_form("/admin/plugins/{id}/package", |it| it.to(upload_package))
        },
        Route {
            body_limit: MAX_ICON_BYTES + FIELDS_BYTES,
            ..licensed_form("/admin/plugins/{id}/icon", |it| it.to(upload_icon))
        },
        licensed_form("/admin/plugins/{id}/remove-icon", |it| it.to(remove_icon)),
    ]
}

async fn upload_package(page: PageContext, PathId(id): PathId, form: UploadForm) -> PageResult {
    if let Some(question) = ask_for_upload_proof(&page, &form, || package_field(&page)).await? {
        return Ok(question);
    }
    let result = submit_package(&page, PluginId(id), form).await;
    finish_change(&page, PluginId(id), result, None).await
}

async fn submit_package(
    page: &PageContext,
    id: PluginId,
    form: UploadForm,
) -> Result<(), ApiError> {
    let by = page.user();
    let file = chosen_file(page, &form, "package")?;
    // The body is freed as early as the use case frees the file.
    drop(form);
    page.run(|api| async move { api.plugins.upload_package(by, id, file).await.map(drop) }).await
}

async fn upload_icon(page: PageContext, PathId(id): PathId, form: UploadForm) -> PageResult {
    let result = submit_icon(&page, PluginId(id), &form).await;
    finish_change(&page, PluginId(id), result, None).await
}

async fn submit_icon(page: &PageContext, id: PluginId, form: &UploadForm) -> Result<(), ApiError> {
    let by = page.user();
    let file = chosen_file(page, form, "icon")?;
    page.run(|api| async move { api.plugins.upload_icon(by, id, Some(file)).await }).await
}

async fn remove_icon(page: PageContext, PathId(id): PathId, _: FormFields) -> PageResult {
    let by = page.user();
    let id = PluginId(id);
    let result = page.run(|api| async move { api.plugins.upload_icon(by, id, None).await }).await;
    finish_change(&page, id, result, None).await
}

fn chosen_file(page: &PageContext, form: &UploadForm, field: &str) -> Result<Bytes, ApiError> {
    let file = form.file(field).map(|it| it.content.clone());
    file.ok_or_else(|| field_error(page.language, field, common::CHOOSE_FILE))
}
