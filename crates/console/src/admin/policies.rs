//! Client policies.

mod document;
mod versions;
mod view;

use pia_kernel::{ClientPolicyId, Language, Timestamp};
use pia_policy::{ClientPolicyDraft, Feature};
use pia_web::{ApiError, PathId, Route};

use self::view::{Contents, list_view, new_view, policy_view};
use super::bindings::expected_version;
use super::group_choice::{typed_group, unknown_group};
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::proof::ProvedForm;
use crate::routes::pages::{form, page};
use crate::texts::common;
use crate::texts::field_errors::or_gone;

type Handler = fn(actix_web::Route) -> actix_web::Route;

pub(super) fn routes() -> Vec<Route> {
    let mut routes = vec![
        page("/admin/policies", |it| it.to(list)),
        page("/admin/policies/new", |it| it.to(new)),
        licensed_form("/admin/policies", |it| it.to(create)),
        document::route(),
        page("/admin/policies/{id}", |it| it.to(show)),
        licensed_form("/admin/policies/{id}/save", |it| it.to(save)),
        licensed_form("/admin/policies/{id}/publish", |it| it.to(publish)),
        licensed_form("/admin/policies/{id}/withdraw", |it| it.to(withdraw)),
        licensed_form("/admin/policies/{id}/delete", |it| it.to(delete)),
    ];
    routes.extend(versions::routes());
    routes
}

/// Returns the row of a form that changes published content.
pub(super) fn licensed_form(path: &'static str, handler: Handler) -> Route {
    Route { feature: Some(Feature::GroupManagement), ..form(path, handler) }
}

async fn list(page: PageContext) -> PageResult {
    let view = list_view(&page).await?;
    Ok(page.render(view))
}

async fn new(page: PageContext) -> PageResult {
    Ok(page.render(new_view(&page, &Contents::default())))
}

async fn create(page: PageContext, form: FormFields) -> PageResult {
    let contents = Contents::typed(&form);
    match submit_new(&page, &contents).await {
        Ok(id) => page.done(&format!("admin/policies/{id}"), "created"),
        Err(err) => page.refuse(new_view(&page, &contents), err),
    }
}

/// Creates a policy with these contents.
async fn submit_new(page: &PageContext, contents: &Contents) -> Result<ClientPolicyId, ApiError> {
    let by = page.user();
    let draft = contents.draft(page.language)?;
    page.run(|api| async move { api.client_policies.create(by, draft).await }).await
}

async fn show(page: PageContext, PathId(id): PathId) -> PageResult {
    let view = policy_view(&page, ClientPolicyId(id), None).await?;
    Ok(page.render(view))
}

async fn save(page: PageContext, PathId(id): PathId, ProvedForm(form): ProvedForm) -> PageResult {
    let contents = Contents::typed(&form);
    let id = ClientPolicyId(id);
    match submit_change(&page, id, &contents, expected_version(&form)).await {
        Ok(()) => page.done(&format!("admin/policies/{id}"), "saved"),
        Err(err) => {
            let view = policy_view(&page, id, Some(contents)).await?;
            page.refuse(view, err)
        }
    }
}

/// Replaces the contents of the expected version of a policy.
async fn submit_change(
    page: &PageContext,
    id: ClientPolicyId,
    contents: &Contents,
    expected: Option<Timestamp>,
) -> Result<(), ApiError> {
    let by = page.user();
    let draft = contents.draft(page.language)?;
    page.run(|api| async move { api.client_policies.replace(by, id, draft, expected).await }).await
}

async fn publish(
    page: PageContext,
    PathId(id): PathId,
    ProvedForm(form): ProvedForm,
) -> PageResult {
    let result = assign(&page, &form, Some(ClientPolicyId(id)))
        .await
        .map_err(|err| or_gone(page.language, err, "group", common::GROUP_GONE));
    finish_assignment(&page, ClientPolicyId(id), &form, result).await
}

async fn withdraw(
    page: PageContext,
    PathId(id): PathId,
    ProvedForm(form): ProvedForm,
) -> PageResult {
    let result = assign(&page, &form, None).await;
    finish_assignment(&page, ClientPolicyId(id), &form, result).await
}

/// Assigns a policy to the group of a form, or removes the group's policy.
async fn assign(
    page: &PageContext,
    form: &FormFields,
    policy: Option<ClientPolicyId>,
) -> Result<(), ApiError> {
    let by = page.user();
    let group = typed_group(page, form, "group").await?;
    let group = group.ok_or_else(|| unknown_group(page, "group"))?;
    page.run(|api| async move { api.client_policies.assign(by, group, policy).await }).await
}

async fn finish_assignment(
    page: &PageContext,
    policy: ClientPolicyId,
    form: &FormFields,
    result: Result<(), ApiError>,
) -> PageResult {
    match result {
        Ok(()) => page.done(&format!("admin/policies/{policy}#groups"), "saved"),
        Err(err) => page.refuse_typed(policy_view(page, policy, None).await?, form, err),
    }
}

async fn delete(page: PageContext, PathId(id): PathId, _: ProvedForm) -> PageResult {
    let by = page.user();
    let result = page
        .run(|api| async move { api.client_policies.delete(by, ClientPolicyId(id)).await })
        .await;
    match result {
        Ok(()) => page.done("admin/policies", "deleted"),
        Err(err) => page.refuse(policy_view(&page, ClientPolicyId(id), None).await?, err),
    }
}

impl Contents {
    /// Parses the contents of a form.
    fn typed(form: &FormFields) -> Self {
        Self {
            name: form.text("name").to_owned(),
            description: form.text("description").to_owned(),
            document: form.text("document").to_owned(),
            version: expected_version(form),
        }
    }

    fn draft(&self, language: Language) -> Result<ClientPolicyDraft, ApiError> {
        let name = self.name.as_str();
        let description = self.description.as_str();
        ClientPolicyDraft::parse(Some(name), Some(description), Some(&self.document))
            .map_err(|err| document::refused(language, err))
    }
}
