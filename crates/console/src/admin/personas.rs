//! Managed personas.

mod bindings;
mod form;
mod view;

use pia_kernel::PersonaId;
use pia_policy::PersonaDraft;
use pia_web::{PathId, Route};

use self::form::typed_draft;
use self::view::{list_view, new_view, persona_view};
use super::bindings::{VersionedDraft, expected_version};
use super::policies::licensed_form;
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::proof::ProvedForm;
use crate::routes::pages::page;

/// Maximum size of the form: 30,000 characters, each of up to nine bytes.
const FORM_BYTES: usize = 512 * 1024;

pub(super) fn routes() -> Vec<Route> {
    let mut routes = vec![
        page("/admin/personas", |it| it.to(list)),
        page("/admin/personas/new", |it| it.to(new)),
        large_form("/admin/personas", |it| it.to(create)),
        page("/admin/personas/{id}", |it| it.to(show)),
        large_form("/admin/personas/{id}/save", |it| it.to(save)),
        licensed_form("/admin/personas/{id}/delete", |it| it.to(delete)),
    ];
    routes.extend(bindings::routes());
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
    Ok(page.render(new_view(&page, PersonaDraft::default())))
}

async fn create(page: PageContext, form: FormFields) -> PageResult {
    let by = page.user();
    let draft = typed_draft(&form);
    let typed = draft.clone();
    match page.run(|api| async move { api.personas.create(by, draft).await }).await {
        Ok(persona) => page.done(&format!("admin/personas/{}", persona.id), "created"),
        Err(err) => page.refuse(new_view(&page, typed), err),
    }
}

async fn show(page: PageContext, PathId(id): PathId) -> PageResult {
    let view = persona_view(&page, PersonaId(id), None).await?;
    Ok(page.render(view))
}

async fn save(page: PageContext, PathId(id): PathId, form: FormFields) -> PageResult {
    let by = page.user();
    let draft = typed_draft(&form);
    let id = PersonaId(id);
    let expected = expected_version(&form);
    let typed = Some(VersionedDraft { draft: draft.clone(), version: expected });
    match page.run(|api| async move { api.personas.replace(by, id, draft, expected).await }).await {
        Ok(()) => page.done(&format!("admin/personas/{id}"), "saved"),
        Err(err) => page.refuse(persona_view(&page, id, typed).await?, err),
    }
}

async fn delete(page: PageContext, PathId(id): PathId, _: ProvedForm) -> PageResult {
    let by = page.user();
    let id = PersonaId(id);
    match page.run(|api| async move { api.personas.delete(by, id).await }).await {
        Ok(()) => page.done("admin/personas", "deleted"),
        Err(err) => page.refuse(persona_view(&page, id, None).await?, err),
    }
}
