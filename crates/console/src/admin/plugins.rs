//! Plugins.

mod files;
mod view;

use pia_kernel::PluginId;
use pia_policy::{PluginDraft, PluginError};
use pia_web::{ApiError, PathId, Route};

use self::view::{list_view, new_view, plugin_view, stored_draft};
use super::bindings::{VersionedDraft, expected_version};
use super::group_choice::typed_selection;
use super::policies::licensed_form;
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::proof::ProvedForm;
use crate::routes::pages::page;

/// Maximum size of the form: a configuration of 65,536 characters, each of up
/// to nine bytes.
const FORM_BYTES: usize = 768 * 1024;

pub(super) fn routes() -> Vec<Route> {
    let mut routes = vec![
        page("/admin/plugins", |it| it.to(list)),
        page("/admin/plugins/new", |it| it.to(new)),
        large_form("/admin/plugins", |it| it.to(create)),
        page("/admin/plugins/{id}", |it| it.to(show)),
        large_form("/admin/plugins/{id}/save", |it| it.to(save)),
        licensed_form("/admin/plugins/{id}/activate", |it| it.to(activate)),
        licensed_form("/admin/plugins/{id}/deactivate", |it| it.to(deactivate)),
        licensed_form("/admin/plugins/{id}/groups", |it| it.to(assign)),
        licensed_form("/admin/plugins/{id}/delete", |it| it.to(delete)),
    ];
    routes.extend(files::routes());
    routes
}

fn large_form(path: &'static str, handler: fn(actix_web::Route) -> actix_web::Route) -> Route {
    Route { body_limit: FORM_BYTES, ..licensed_form(path, handler) }
}

async fn list(page: PageContext) -> PageResult {
    let view = list_view(&page).await?;
    Ok(page.render(view))
}

async fn new(page: PageContext) -> PageResult {
    Ok(page.render(new_view(&page, PluginDraft::default())))
}

async fn create(page: PageContext, ProvedForm(form): ProvedForm) -> PageResult {
    let by = page.user();
    let draft = typed_draft(&form);
    let typed = draft.clone();
    match page.run(|api| async move { api.plugins.create(by, draft).await }).await {
        Ok(plugin) => page.done(&format!("admin/plugins/{}", plugin.id), "created"),
        Err(err) => page.refuse(new_view(&page, typed), err),
    }
}

async fn show(page: PageContext, PathId(id): PathId) -> PageResult {
    let view = plugin_view(&page, PluginId(id), None).await?;
    Ok(page.render(view))
}

async fn save(page: PageContext, PathId(id): PathId, ProvedForm(form): ProvedForm) -> PageResult {
    let by = page.user();
    let draft = typed_draft(&form);
    let id = PluginId(id);
    let expected = expected_version(&form);
    let typed = Some(VersionedDraft { draft: draft.clone(), version: expected });
    let result =
        page.run(|api| async move { api.plugins.replace(by, id, draft, expected).await }).await;
    finish_change(&page, id, result, typed).await
}

async fn activate(page: PageContext, PathId(id): PathId, _: ProvedForm) -> PageResult {
    set_active(&page, PluginId(id), true).await
}

async fn deactivate(page: PageContext, PathId(id): PathId, _: FormFields) -> PageResult {
    set_active(&page, PluginId(id), false).await
}

/// Changes only the state and keeps the contents.
async fn set_active(page: &PageContext, id: PluginId, is_active: bool) -> PageResult {
    let by = page.user();
    let result = page
        .run::<_, PluginError, _>(|api| async move {
            let plugin = api.plugins.find(id).await?;
            let version = plugin.updated_at;
            let draft = PluginDraft { is_active: Some(is_active), ..stored_draft(plugin) };
            api.plugins.replace(by, id, draft, Some(version)).await
        })
        .await;
    finish_change(page, id, result, None).await
}

async fn assign(page: PageContext, PathId(id): PathId, form: FormFields) -> PageResult {
    let id = PluginId(id);
    match assign_to_groups(&page, id, &form).await {
        Ok(()) => page.done(&format!("admin/plugins/{id}#groups"), "saved"),
        Err(err) => page.refuse_typed(plugin_view(&page, id, None).await?, &form, err),
    }
}

async fn assign_to_groups(
    page: &PageContext,
    id: PluginId,
    form: &FormFields,
) -> Result<(), ApiError> {
    let by = page.user();
    let groups = typed_selection(page, form).await?;
    page.run(|api| async move { api.plugins.assign(by, id, groups).await }).await
}

async fn delete(page: PageContext, PathId(id): PathId, _: ProvedForm) -> PageResult {
    let by = page.user();
    let id = PluginId(id);
    match page.run(|api| async move { api.plugins.delete(by, id).await }).await {
        Ok(()) => page.done("admin/plugins", "deleted"),
        Err(err) => page.refuse(plugin_view(&page, id, None).await?, err),
    }
}

/// Redirects to the page of a plugin, or renders it again after an error.
async fn finish_change(
    page: &PageContext,
    id: PluginId,
    result: Result<(), ApiError>,
    typed: Option<VersionedDraft<PluginDraft>>,
) -> PageResult {
    match result {
        Ok(()) => page.done(&format!("admin/plugins/{id}"), "saved"),
        Err(err) => page.refuse(plugin_view(page, id, typed).await?, err),
    }
}

/// Parses the contents of a plugin. Its state has a form of its own.
fn typed_draft(form: &FormFields) -> PluginDraft {
    PluginDraft {
        kind: form.some("kind"),
        name: form.some("name"),
        description: form.some("description"),
        config_json: form.some("configJson"),
        version: form.some("version"),
        is_active: None,
    }
}
