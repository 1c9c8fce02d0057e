//! Changes of a user, from the body of a request.

use pia_identity::{ScimUserChange, ScimUserUpdate};
use pia_web::ApiError;
use serde_json::{Map, Value};

use crate::body::{boolean, member, text};
use crate::patch::{Operation, PatchOp, Target, operations, plain};
use crate::refusals::invalid;
use crate::user_resource::USER_SCHEMA;

/// Attributes that a replacement clears unless it has them. Without `emails`
/// the address stays, without `active` the state: an account has both.
const CLEARED: [&str; 3] = ["externalid", "displayname", "name"];

/// Conditions on `emails` that the one address of an account meets.
const OWN_EMAIL: [(&str, &str); 2] = [("type", "work"), ("primary", "true")];

/// Changes that are being read. Attributes that the server does not store are
/// ignored.
#[derive(Default)]
struct Changes {
    update: ScimUserUpdate,
    /// Change by `name.formatted`, which is the display name without another.
    formatted: Option<ScimUserChange>,
    sets_display_name: bool,
}

/// Returns the changes that create a user.
pub(crate) fn creation(resource: &Map<String, Value>) -> Result<ScimUserUpdate, ApiError> {
    let mut changes = Changes::default();
    changes.set_all(resource)?;
    Ok(changes.finish())
}

/// Returns the changes that replace a user.
pub(crate) fn replacement(resource: &Map<String, Value>) -> Result<ScimUserUpdate, ApiError> {
    let mut changes = Changes::default();
    if member(resource, "userName").is_none() {
        return Err(invalid("invalidValue", "`userName` is required."));
    }
    for name in CLEARED.into_iter().filter(|it| member(resource, it).is_none()) {
        changes.set(name, &Value::Null)?;
    }
    changes.set_all(resource)?;
    Ok(changes.finish())
}

/// Returns the changes of a `PATCH`.
pub(crate) fn patch(body: &Map<String, Value>) -> Result<ScimUserUpdate, ApiError> {
    let mut changes = Changes::default();
    for Operation { op, target, value } in operations(body, USER_SCHEMA)? {
        let value = if op == PatchOp::Remove { Value::Null } else { value };
        match target {
            Target::Resource => {
                let Value::Object(members) = value else {
                    return Err(invalid(
                        "invalidValue",
                        "`value` must be an object without `path`.",
                    ));
                };
                changes.set_all(&members)?;
            }
            Target::Attribute(name) => changes.set(&name, &value)?,
            // A user has one address, which is the primary one at work.
            Target::Element { attribute, conditions, part }
                if attribute == "emails"
                    && conditions.iter().all(|it| OWN_EMAIL.contains(&(&it.0, &it.1)))
                    && matches!(part.as_deref(), None | Some("value")) =>
            {
                changes.set("emails", &value)?;
            }
            Target::Element { .. } | Target::Foreign => {}
        }
    }
    Ok(changes.finish())
}

impl Changes {
    fn set_all(&mut self, members: &Map<String, Value>) -> Result<(), ApiError> {
        for (name, value) in members {
            let name = name.to_ascii_lowercase();
            let schema = USER_SCHEMA.to_ascii_lowercase();
            let own = name.strip_prefix(&schema).and_then(|it| it.strip_prefix(':'));
            self.set(own.unwrap_or(&name), value)?;
        }
        Ok(())
    }

    /// Sets an attribute, by its name in lower case. Null clears it.
    fn set(&mut self, name: &str, value: &Value) -> Result<(), ApiError> {
        let changes = &mut self.update.changes;
        match name {
            "username" => {
                let name = text("userName", value)?.unwrap_or_default();
                changes.push(ScimUserChange::UserName(name));
            }
            "externalid" => changes.push(ScimUserChange::ExternalId(text("externalId", value)?)),
            "active" if value.is_null() => {}
            "active" => self.update.is_active = Some(boolean("active", value)?),
            "displayname" => {
                self.sets_display_name = true;
                changes.push(ScimUserChange::DisplayName(text("displayName", value)?));
            }
            "name" => {
                for part in ["givenName", "familyName", "formatted"] {
                    let value = value.as_object().map(|it| member(it, part));
                    if let Some(value) = value.unwrap_or(Some(&Value::Null)) {
                        self.set(&format!("name.{}", part.to_ascii_lowercase()), value)?;
                    }
                }
            }
            "name.givenname" => changes.push(ScimUserChange::GivenName(text(name, value)?)),
            "name.familyname" => changes.push(ScimUserChange::FamilyName(text(name, value)?)),
            "name.formatted" => {
                self.formatted = Some(ScimUserChange::DisplayName(text(name, value)?));
            }
            "emails" | "emails.value" => {
                let address = address(value)
                    .ok_or_else(|| invalid("mutability", "The email address is required."))?;
                changes.push(ScimUserChange::Email(address.to_owned()));
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(mut self) -> ScimUserUpdate {
        if let Some(formatted) = self.formatted.filter(|_| !self.sets_display_name) {
            self.update.changes.push(formatted);
        }
        self.update
    }
}

/// Returns the address out of `emails`: the primary one, or the one at work,
/// or the first.
fn address(value: &Value) -> Option<&str> {
    match value {
        Value::String(address) => Some(address),
        Value::Object(email) => member(email, "value")?.as_str(),
        Value::Array(emails) => {
            let has = |email: &Value, name: &str, expected: &str| {
                let value = email.as_object().and_then(|it| member(it, name));
                value.is_some_and(|it| plain(it).eq_ignore_ascii_case(expected))
            };
            let primary = emails.iter().find(|it| has(it, "primary", "true"));
            let work = || emails.iter().find(|it| has(it, "type", "work"));
            address(primary.or_else(work).or_else(|| emails.first())?)
        }
        _ => None,
    }
}
