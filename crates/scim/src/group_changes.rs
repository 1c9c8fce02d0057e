//! Changes of a group, from the body of a request.
//!
//! `POST` and `PUT` use `replacement`, `PATCH` uses `patch`; `apply` in
//! `groups.rs` makes the changes. Attributes that the server does not store
//! are ignored.

use pia_kernel::UserId;
use pia_policy::MembershipChange;
use pia_web::ApiError;
use serde_json::{Map, Value};

use crate::body::{member, text};
use crate::filter::{parse_id, unsupported};
use crate::group_resource::GROUP_SCHEMA;
use crate::patch::{Operation, PatchOp, Target, attribute, operations};
use crate::refusals::invalid;

/// Change of a group's external id.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ExternalIdChange(pub(crate) Option<String>);

/// Changes of a group; `None` leaves a value as it is.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupChanges {
    pub(crate) name: Option<String>,
    pub(crate) external_id: Option<ExternalIdChange>,
    /// Applied in this order.
    pub(crate) members: Vec<MembershipChange>,
}

/// Returns the changes that create or replace a group. Without `members`, a
/// replaced group keeps its members.
pub(crate) fn replacement(resource: &Map<String, Value>) -> Result<GroupChanges, ApiError> {
    let mut changes =
        GroupChanges { external_id: Some(ExternalIdChange(None)), ..GroupChanges::default() };
    changes.set_all(resource, PatchOp::Replace)?;
    if changes.name.is_none() {
        return Err(invalid("invalidValue", "`displayName` is required."));
    }
    Ok(changes)
}

/// Returns the changes of a `PATCH`.
pub(crate) fn patch(body: &Map<String, Value>) -> Result<GroupChanges, ApiError> {
    let mut changes = GroupChanges::default();
    for Operation { op, target, value } in operations(body, GROUP_SCHEMA)? {
        match target {
            Target::Resource => {
                let Value::Object(members) = value else {
                    return Err(invalid(
                        "invalidValue",
                        "`value` must be an object without `path`.",
                    ));
                };
                changes.set_all(&members, op)?;
            }
            Target::Attribute(name) => changes.set(&name, &value, op)?,
            Target::Element { attribute, conditions, part: None }
                if attribute == "members" && op == PatchOp::Remove =>
            {
                let [condition] = conditions.as_slice() else {
                    return Err(unsupported());
                };
                if condition.name != "value" {
                    return Err(unsupported());
                }
                // An id that is no UUID belongs to no member, so that nobody is removed.
                let ids = parse_id(&condition.value).map(UserId).into_iter().collect();
                changes.members.push(MembershipChange::Remove(ids));
            }
            Target::Element { .. } => {
                return Err(invalid("invalidPath", "The `path` is not supported."));
            }
            Target::Foreign => {}
        }
    }

    Ok(changes)
}

impl GroupChanges {
    fn set_all(&mut self, members: &Map<String, Value>, op: PatchOp) -> Result<(), ApiError> {
        for (name, value) in members {
            self.set(&attribute(name, GROUP_SCHEMA), value, op)?;
        }
        Ok(())
    }

    /// Sets an attribute, by its name in lower case. Others are ignored.
    fn set(&mut self, name: &str, value: &Value, op: PatchOp) -> Result<(), ApiError> {
        let removes = op == PatchOp::Remove;

        match name {
            "displayname" if removes => {
                return Err(invalid("mutability", "`displayName` is required."));
            }
            "displayname" => self.name = Some(text("displayName", value)?.unwrap_or_default()),
            "externalid" if removes => self.external_id = Some(ExternalIdChange(None)),
            "externalid" => self.external_id = Some(ExternalIdChange(text("externalId", value)?)),
            "members" => {
                let users = || users(value);
                self.members.push(match op {
                    PatchOp::Add => MembershipChange::Add(users()?),
                    PatchOp::Replace => MembershipChange::Replace(users()?),
                    PatchOp::Remove if value.is_null() => MembershipChange::Replace(Vec::new()),
                    PatchOp::Remove => MembershipChange::Remove(users()?),
                });
            }
            _ => {}
        }

        Ok(())
    }
}

/// Returns the users of a value of `members`: `[{ "value": id }]`.
fn users(value: &Value) -> Result<Vec<UserId>, ApiError> {
    let user = |entry: &Value| {
        let id = entry.as_object().and_then(|it| member(it, "value")).unwrap_or(entry);
        id.as_str().and_then(parse_id).map(UserId).ok_or_else(|| {
            invalid("invalidValue", "Each of `members` must have the id of a user as its `value`.")
        })
    };
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(members) => members.iter().map(user).collect(),
        single => Ok(vec![user(single)?]),
    }
}
