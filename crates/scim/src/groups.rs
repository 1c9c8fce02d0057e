//! Handlers of `/scim/v2/Groups`.
//!
//! `list` loads all groups and filters them here, whereas users are filtered
//! in SQL. A change is a sequence of use cases and no transaction: `apply`
//! begins with those that are most likely refused.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{Data, Query};
use pia_identity::TextMatch;
use pia_kernel::{GroupId, UserId};
use pia_policy::{Group, GroupError, Groups, MembershipChange};
use pia_web::{ApiError, PathId, ScimCaller};
use scim_v2::filter::{CompValue, CompareOp};
use serde_json::Value;

use crate::body::Resource;
use crate::filter::{Comparison, comparisons, parse_id, text_match, unsupported};
use crate::group_changes::{ExternalIdChange, GroupChanges, patch, replacement};
use crate::list::ScimQuery;
use crate::patch::comparison_text;
use crate::scim::{Scim, respond, respond_whole};

/// Group and its members, which are empty unless the client requests them.
struct GroupWithMembers {
    group: Group,
    /// Ids and email addresses.
    members: Vec<(UserId, String)>,
}

impl GroupWithMembers {
    fn resource(&self, scim: &Scim) -> Value {
        scim.group_resource(&self.group, &self.members)
    }
}

pub(crate) async fn list(
    caller: ScimCaller,
    scim: Data<Scim>,
    query: Query<ScimQuery>,
) -> Result<HttpResponse, ApiError> {
    let filter = query.filter.as_deref().map_or(Ok(Vec::new()), comparisons)?;
    let conditions = filter.iter().map(condition).collect::<Result<Vec<_>, _>>()?;
    let offset = query.offset() as usize;
    let limit = query.limit() as usize;
    let groups = scim.groups.clone();
    let with_members = query.includes("members");
    let (total, page) = scim
        .run(caller, async move {
            let mut selected = Vec::new();
            for entry in groups.list().await? {
                if meets_all(&groups, &entry.group, &conditions).await? {
                    selected.push(entry.group);
                }
            }

            let total = selected.len() as u64;
            let mut page = Vec::new();
            for group in selected.into_iter().skip(offset).take(limit) {
                page.push(load(&groups, group, with_members).await?);
            }

            Ok::<_, GroupError>((total, page))
        })
        .await?;
    let resources: Vec<Value> = page.iter().map(|it| query.select(it.resource(&scim))).collect();

    Ok(respond_whole(&query.page(total, &resources)))
}

pub(crate) async fn show(
    caller: ScimCaller,
    scim: Data<Scim>,
    PathId(id): PathId,
    query: Query<ScimQuery>,
) -> Result<HttpResponse, ApiError> {
    let groups = scim.groups.clone();
    let with_members = query.includes("members");
    let group = scim
        .run(caller, async move {
            let group = groups.find(GroupId(id)).await?.group;
            load(&groups, group, with_members).await
        })
        .await?;
    Ok(respond(StatusCode::OK, group.resource(&scim), &query))
}

pub(crate) async fn create(
    caller: ScimCaller,
    scim: Data<Scim>,
    query: Query<ScimQuery>,
    Resource(resource): Resource,
) -> Result<HttpResponse, ApiError> {
    let groups = scim.groups.clone();
    let changes = replacement(&resource)?;
    let with_members = query.includes("members");
    let group = scim
        .run(caller, async move {
            let name = changes.name.clone().unwrap_or_default();
            let group = groups.create(None, &name).await?;
            if let Err(err) = apply(&groups, group.id, changes).await {
                // The client does not learn of the group, so nothing of it may remain.
                groups.delete(None, group.id).await?;
                return Err(err);
            }
            let group = groups.find(group.id).await?.group;
            load(&groups, group, with_members).await
        })
        .await?;

    Ok(respond(StatusCode::CREATED, group.resource(&scim), &query))
}

pub(crate) async fn replace(
    caller: ScimCaller,
    scim: Data<Scim>,
    PathId(id): PathId,
    query: Query<ScimQuery>,
    Resource(resource): Resource,
) -> Result<HttpResponse, ApiError> {
    change(caller, &scim, &query, GroupId(id), replacement(&resource)?).await
}

pub(crate) async fn modify(
    caller: ScimCaller,
    scim: Data<Scim>,
    PathId(id): PathId,
    query: Query<ScimQuery>,
    Resource(body): Resource,
) -> Result<HttpResponse, ApiError> {
    change(caller, &scim, &query, GroupId(id), patch(&body)?).await
}

/// Deletes a group; its members go to the default group.
pub(crate) async fn delete(
    caller: ScimCaller,
    scim: Data<Scim>,
    PathId(id): PathId,
) -> Result<HttpResponse, ApiError> {
    let groups = scim.groups.clone();
    let group = GroupId(id);
    scim.run(caller, async move {
        match groups.delete(None, group).await {
            Err(GroupError::InUse(by)) if by.is_by_members_alone() => {
                groups.change_members(group, &[MembershipChange::Replace(Vec::new())]).await?;
                groups.delete(None, group).await
            }
            result => result,
        }
    })
    .await?;

    Ok(HttpResponse::NoContent().finish())
}

async fn change(
    caller: ScimCaller,
    scim: &Scim,
    query: &ScimQuery,
    id: GroupId,
    changes: GroupChanges,
) -> Result<HttpResponse, ApiError> {
    let groups = scim.groups.clone();
    let with_members = query.includes("members");
    let group = scim
        .run(caller, async move {
            apply(&groups, id, changes).await?;
            let group = groups.find(id).await?.group;
            load(&groups, group, with_members).await
        })
        .await?;
    Ok(respond(StatusCode::OK, group.resource(scim), query))
}

/// Applies the changes of a group, those first that are most likely to be
/// refused.
async fn apply(groups: &Groups, id: GroupId, changes: GroupChanges) -> Result<(), GroupError> {
    if let Some(name) = &changes.name {
        groups.rename(None, id, name).await?;
    }
    if let Some(ExternalIdChange(external_id)) = &changes.external_id {
        groups.set_external_id(id, external_id.as_deref()).await?;
    }
    if changes.members.is_empty() {
        return Ok(());
    }
    groups.change_members(id, &changes.members).await
}

async fn load(
    groups: &Groups,
    group: Group,
    with_members: bool,
) -> Result<GroupWithMembers, GroupError> {
    let members = if with_members { groups.member_ids(group.id).await? } else { Vec::new() };
    Ok(GroupWithMembers { group, members })
}

/// Condition that a list of groups meets.
enum GroupCondition {
    Id(Option<GroupId>),
    Name(TextMatch, String),
    ExternalId(String),
    Member(Option<UserId>),
}

fn condition(comparison: &Comparison) -> Result<GroupCondition, ApiError> {
    let Comparison::Compares(name, op, value) = comparison else { return Err(unsupported()) };

    let text = comparison_text(value);

    match (name.as_str(), op, value) {
        ("displayname", op, CompValue::Str(_)) => {
            let matching = text_match(op).ok_or_else(unsupported)?;
            Ok(GroupCondition::Name(matching, text.trim().to_lowercase()))
        }
        ("externalid", CompareOp::Eq, CompValue::Str(_)) => Ok(GroupCondition::ExternalId(text)),
        ("id", CompareOp::Eq, _) => Ok(GroupCondition::Id(parse_id(&text).map(GroupId))),
        ("members" | "members.value", CompareOp::Eq, _) => {
            Ok(GroupCondition::Member(parse_id(&text).map(UserId)))
        }
        _ => Err(unsupported()),
    }
}

async fn meets_all(
    groups: &Groups,
    group: &Group,
    conditions: &[GroupCondition],
) -> Result<bool, GroupError> {
    for condition in conditions {
        if !meets(groups, group, condition).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

async fn meets(
    groups: &Groups,
    group: &Group,
    condition: &GroupCondition,
) -> Result<bool, GroupError> {
    match condition {
        GroupCondition::Id(id) => Ok(*id == Some(group.id)),
        GroupCondition::ExternalId(id) => Ok(group.external_id.as_ref() == Some(id)),
        GroupCondition::Name(matching, text) => {
            Ok(matches_text(&group.name.folded(), *matching, text))
        }
        GroupCondition::Member(None) => Ok(false),
        GroupCondition::Member(Some(user)) => match groups.member(*user).await {
            Ok(member) => Ok(member.group == group.id),
            Err(GroupError::UnknownAccount) => Ok(false),
            Err(err) => Err(err),
        },
    }
}

fn matches_text(name: &str, matching: TextMatch, text: &str) -> bool {
    match matching {
        TextMatch::Equals => name == text,
        TextMatch::Contains => name.contains(text),
        TextMatch::StartsWith => name.starts_with(text),
        TextMatch::EndsWith => name.ends_with(text),
    }
}
