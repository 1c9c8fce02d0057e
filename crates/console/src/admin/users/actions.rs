//! Page of a user, and its forms.

use pia_kernel::{ApiKeyId, UserId};
use pia_policy::Feature;
use pia_web::{ApiError, Licensing, PathId, PathPart, Route};

use super::detail::user_view;
use super::typed_role;
use crate::admin::group_choice::{typed_group, unknown_group};
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::proof::ProvedForm;
use crate::routes::pages::{form, page};
use crate::texts::common;
use crate::texts::field_errors::or_gone;

pub(super) fn routes() -> Vec<Route> {
    // Whoever must go, and keys that leaked, do not wait for a licence.
    let always = |route| Route { licensing: Licensing::MayHaveEnded, ..route };
    vec![
        page("/admin/users/{id}", |it| it.to(show)),
        form("/admin/users/{id}/role", |it| it.to(grant)),
        Route {
            feature: Some(Feature::GroupManagement),
            ..form("/admin/users/{id}/group", |it| it.to(move_to_group))
        },
        always(form("/admin/users/{id}/end-sessions", |it| it.to(end_sessions))),
        always(form("/admin/users/{id}/lift-wait", |it| it.to(lift_wait))),
        always(form("/admin/users/{id}/reset-factor", |it| it.to(reset_factor))),
        always(form("/admin/users/{id}/deactivate", |it| it.to(deactivate))),
        form("/admin/users/{id}/reactivate", |it| it.to(reactivate)),
        always(form("/admin/users/{id}/api-keys/{part}/revoke", |it| it.to(revoke_key))),
    ]
}

async fn show(page: PageContext, PathId(id): PathId) -> PageResult {
    let view = user_view(&page, UserId(id)).await?;
    Ok(page.render(view))
}

async fn grant(page: PageContext, PathId(id): PathId, ProvedForm(form): ProvedForm) -> PageResult {
    let granted = grant_role(&page, UserId(id), &form).await;
    finish(&page, UserId(id), &form, granted, "saved").await
}

async fn grant_role(page: &PageContext, user: UserId, form: &FormFields) -> Result<(), ApiError> {
    let role = typed_role(page, form)?;
    let by = Some(page.user());
    page.run(|api| async move { api.administration.roles.grant(by, user, role).await }).await
}

async fn move_to_group(
    page: PageContext,
    PathId(id): PathId,
    ProvedForm(form): ProvedForm,
) -> PageResult {
    let moved = move_user(&page, UserId(id), &form).await;
    finish(&page, UserId(id), &form, moved, "moved").await
}

async fn move_user(page: &PageContext, user: UserId, form: &FormFields) -> Result<(), ApiError> {
    let by = Some(page.user());
    let group = typed_group(page, form, "group").await?;
    let group = group.ok_or_else(|| unknown_group(page, "group"))?;
    page.run(|api| async move { api.groups.move_member(by, user, group).await })
        .await
        .map_err(|err| or_gone(page.language, err, "group", common::GROUP_GONE))
}

async fn end_sessions(
    page: PageContext,
    PathId(id): PathId,
    ProvedForm(form): ProvedForm,
) -> PageResult {
    let by = page.user();
    let user = UserId(id);
    let ended = page
        .run(|api| async move { api.administration.security.end_sessions(by, user).await })
        .await;
    finish(&page, user, &form, ended, "ended").await
}

async fn lift_wait(
    page: PageContext,
    PathId(id): PathId,
    ProvedForm(form): ProvedForm,
) -> PageResult {
    let by = page.user();
    let user = UserId(id);
    let lifted =
        page.run(|api| async move { api.administration.security.lift_wait(by, user).await }).await;
    finish(&page, user, &form, lifted, "lifted").await
}

async fn reset_factor(
    page: PageContext,
    PathId(id): PathId,
    ProvedForm(form): ProvedForm,
) -> PageResult {
    let by = page.user();
    let user = UserId(id);
    let reset = page
        .run(|api| async move { api.administration.security.reset_factor(by, user).await })
        .await;
    finish(&page, user, &form, reset, "reset").await
}

async fn deactivate(
    page: PageContext,
    PathId(id): PathId,
    ProvedForm(form): ProvedForm,
) -> PageResult {
    let by = Some(page.user());
    let user = UserId(id);
    let deactivated =
        page.run(|api| async move { api.administration.roles.deactivate(by, user).await }).await;
    finish(&page, user, &form, deactivated, "deactivated").await
}

async fn reactivate(
    page: PageContext,
    PathId(id): PathId,
    ProvedForm(form): ProvedForm,
) -> PageResult {
    let by = Some(page.user());
    let user = UserId(id);
    let reactivated =
        page.run(|api| async move { api.administration.roles.reactivate(by, user).await }).await;
    finish(&page, user, &form, reactivated, "reactivated").await
}

async fn revoke_key(page: PageContext, path: PathPart, ProvedForm(form): ProvedForm) -> PageResult {
    let by = Some(page.user());
    let user = UserId(path.id);
    let key = ApiKeyId(path.part);
    let revoked = page
        .run(|api| async move {
            // A key of another user is not named by this page.
            if !api.administration.api_keys.list(user).await?.iter().any(|it| it.id == key) {
                return Err(ApiError::not_found());
            }
            Ok(api.administration.api_keys.revoke(by, key).await?)
        })
        .await;

    finish(&page, user, &form, revoked, "revoked").await
}

/// Confirms the change of a user, or renders the page with the error.
async fn finish(
    page: &PageContext,
    user: UserId,
    form: &FormFields,
    result: Result<(), ApiError>,
    done: &str,
) -> PageResult {
    match result {
        Ok(()) => page.done(&format!("admin/users/{user}"), done),
        Err(err) => page.refuse_typed(user_view(page, user).await?, form, err),
    }
}
