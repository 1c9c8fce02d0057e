//! `/api/admin/users`, and the members of a group.

use actix_web::web::{Data, Json, Query};
use pia_identity::Role;
use pia_kernel::{GroupId, Timestamp};
use pia_policy::{GroupMember, MemberFilter, MemberOrder};
use pia_web::{ApiError, FieldError, PathId, SortedPaging};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{Api, HttpError};

/// Lists the users of the server.
pub(crate) async fn users(
    api: Data<Api>,
    Query(query): Query<MemberQuery>,
    page: SortedPaging,
) -> Result<Json<MemberPage>, HttpError> {
    page_of(&api, None, query, page).await
}

/// Lists the members of a group.
pub(crate) async fn members(
    api: Data<Api>,
    PathId(group): PathId,
    Query(query): Query<MemberQuery>,
    page: SortedPaging,
) -> Result<Json<MemberPage>, HttpError> {
    page_of(&api, Some(GroupId(group)), query, page).await
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MemberQuery {
    /// Part of the email address or name, in any case.
    search: Option<String>,
    /// Group of the users. The members of a group are those of the path.
    group: Option<Uuid>,
    /// `user`, `kb_manager`, `org_manager` or `admin`.
    role: Option<String>,
    /// `true` for active accounts, `false` for deactivated ones.
    is_active: Option<bool>,
    /// `true` for accounts with a password that have neither an authenticator app
    /// nor a passkey.
    without_factor: Option<bool>,
    /// `email` or `-email` for the order of addresses, ascending or descending; `role` or
    /// `-role` for that of roles; `status` for active accounts first, `-status` for
    /// deactivated ones; `created` for the oldest account first; `-created`, the default,
    /// for the newest.
    sort: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MemberPage {
    /// Members in the requested order.
    items: Vec<MemberItem>,
    /// Cursor of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MemberItem {
    id: String,
    email: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    display_name: Option<String>,
    /// `user`, `kb_manager`, `org_manager` or `admin`.
    role: String,
    group_id: String,
    /// False if the account is deactivated.
    is_active: bool,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

async fn page_of(
    api: &Data<Api>,
    group: Option<GroupId>,
    query: MemberQuery,
    page: SortedPaging,
) -> Result<Json<MemberPage>, HttpError> {
    let filter = MemberFilter {
        group: group.or(query.group.map(GroupId)),
        search: query.search.unwrap_or_default(),
        role: query.role.as_deref().map(parse_role).transpose()?,
        is_active: query.is_active,
        is_without_factor: query.without_factor.unwrap_or_default(),
        order: parse_order(query.sort.as_deref())?,
    };
    let page = page.sorted_by(filter.order.is_by_text())?;
    let page = api.run(|api| async move { api.groups.members(filter, page).await }).await?;
    Ok(Json(MemberPage {
        items: page.items.into_iter().map(Into::into).collect(),
        next_cursor: page.next.as_ref().map(SortedPaging::format_cursor),
    }))
}

/// Returns the name of a role, which must be one.
fn parse_role(name: &str) -> Result<String, ApiError> {
    let role = Role::of_name(name).ok_or_else(|| {
        let names = Role::ALL.map(Role::name).join(", ");
        let message = format!("Choose one of {names}.");
        ApiError::invalid(vec![FieldError { field: "role".to_owned(), code: "unknown", message }])
    })?;
    Ok(role.name().to_owned())
}

/// Parses an order, as the console names it; without one, the newest account is the first.
fn parse_order(sort: Option<&str>) -> Result<MemberOrder, ApiError> {
    match sort {
        None | Some("-created") => Ok(MemberOrder::Newest),
        Some("created") => Ok(MemberOrder::Oldest),
        Some("email") => Ok(MemberOrder::Email),
        Some("-email") => Ok(MemberOrder::EmailDescending),
        Some("role") => Ok(MemberOrder::Role),
        Some("-role") => Ok(MemberOrder::RoleDescending),
        Some("status") => Ok(MemberOrder::Status),
        Some("-status") => Ok(MemberOrder::StatusDescending),
        Some(_) => {
            let field = "sort".to_owned();
            let message = "Choose one of created, email, role and status, or one of them after -.";
            let message = message.to_owned();
            Err(ApiError::invalid(vec![FieldError { field, code: "unknown", message }]))
        }
    }
}

impl From<GroupMember> for MemberItem {
    fn from(member: GroupMember) -> Self {
        let GroupMember { user, email, display_name, role, group, is_active, created_at } = member;
        let id = user.to_string();
        let group_id = group.to_string();
        Self { id, email, display_name, role, group_id, is_active, created_at }
    }
}
