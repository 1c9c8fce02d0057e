//! Changes of a user, from the body of a request.
//!
//! `POST` uses `creation`, `PUT` uses `replacement`, `PATCH` uses `patch`.
//! The changes have the order of the body; `ScimUserAttributes` in `identity`
//! validates their values.

use pia_identity::{ScimUserChange, ScimUserUpdate};
use pia_web::ApiError;
use serde_json::{Map, Value};

use crate::body::{boolean, member, text};
use crate::patch::{Operation, PatchOp, Target, attribute, operations, plain};
use crate::refusals::invalid;
use crate::user_resource::USER_SCHEMA;

/// Attributes that a replacement clears before it sets others. Without `emails`
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
    for name in CLEARED {
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
                let Value::Object(mut members) = value else {
                    return Err(invalid(
                        "invalidValue",
                        "`value` must be an object without `path`.",
                    ));
                };

                if op == PatchOp::Add {
                    members.retain(|name, value| !is_further_email(name, value));
                }

                changes.set_all(&members)?;
            }
            Target::Attribute(name) if op == PatchOp::Add && is_further_email(&name, &value) => {}
            Target::Attribute(name) => changes.set(&name, &value)?,
            // A user has one address, which is the primary one at work.
            Target::Element { attribute, conditions, part }
                if attribute == "emails"
                    && conditions.iter().all(|it| is_own_email(&it.name, &it.value))
                    && matches!(part.as_deref(), None | Some("value")) =>
            {
                changes.set("emails", &value)?;
            }
            Target::Element { .. } | Target::Foreign => {}
        }
    }

    Ok(changes.finish())
}

/// Returns whether addresses are added beside the one that is stored: none of them is the
/// primary one or at work.
fn is_further_email(name: &str, value: &Value) -> bool {
    let emails = match value {
        Value::Array(emails) => emails.as_slice(),
        email => std::slice::from_ref(email),
    };
    let is_own =
        |email: &Value| OWN_EMAIL.iter().any(|(name, expected)| has(email, name, expected));
    name.eq_ignore_ascii_case("emails") && emails.iter().all(|it| it.is_object() && !is_own(it))
}

/// Returns whether a part of an email has a value.
fn has(email: &Value, name: &str, expected: &str) -> bool {
    let value = email.as_object().and_then(|it| member(it, name));
    value.is_some_and(|it| plain(it).eq_ignore_ascii_case(expected))
}

/// Returns whether the one address of an account meets a condition on `emails`.
fn is_own_email(name: &str, value: &str) -> bool {
    OWN_EMAIL.iter().any(|it| it.0 == name && value.eq_ignore_ascii_case(it.1))
}

impl Changes {
    fn set_all(&mut self, members: &Map<String, Value>) -> Result<(), ApiError> {
        for (name, value) in members {
            let name = attribute(name, USER_SCHEMA);
            if !(name == "emails" && is_unassigned(value)) {
                self.set(&name, value)?;
            }
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
                self.sets_display_name |= !value.is_null();
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
                let scim_type = if is_unassigned(value) { "mutability" } else { "invalidValue" };
                let email = address(value)
                    .ok_or_else(|| invalid(scim_type, "The email address is required."))?;
                changes.push(ScimUserChange::Email(email.to_owned()));
            }
            _ => {}
        }

        Ok(())
    }

    fn finish(mut self) -> ScimUserUpdate {
        if !self.sets_display_name
            && let Some(formatted) = self.formatted
        {
            self.update.changes.push(formatted);
        }
        self.update
    }
}

/// Returns whether `emails` equals an attribute that is left out (RFC 7643, 2.5): it is null, or
/// a list in which nothing has an address.
fn is_unassigned(emails: &Value) -> bool {
    match emails {
        Value::Array(emails) => !emails.iter().any(has_address),
        emails => emails.is_null(),
    }
}

/// Returns whether an element of `emails` has an address.
fn has_address(email: &Value) -> bool {
    address(email).is_some_and(|it| !it.trim().is_empty())
}

/// Returns the address out of `emails`: the primary one, or the one at work,
/// or the first, of those that have a value.
fn address(value: &Value) -> Option<&str> {
    match value {
        Value::String(address) => Some(address),
        Value::Object(email) => member(email, "value")?.as_str(),
        Value::Array(emails) => {
            let emails: Vec<&Value> = emails.iter().filter(|it| has_address(it)).collect();
            let primary = emails.iter().find(|it| has(it, "primary", "true"));
            let work = || emails.iter().find(|it| has(it, "type", "work"));
            address(primary.or_else(work).or_else(|| emails.first()).copied()?)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn changes(update: Result<ScimUserUpdate, ApiError>) -> Vec<ScimUserChange> {
        update.map_err(|it| it.to_string()).unwrap().changes
    }

    fn patched(operation: &Value) -> Vec<ScimUserChange> {
        let body = json!({ "Operations": [operation] });
        changes(patch(body.as_object().unwrap()))
    }

    fn replaced(resource: &Value) -> Vec<ScimUserChange> {
        changes(replacement(resource.as_object().unwrap()))
    }

    #[test]
    fn an_address_is_added_if_it_is_the_primary_one_or_at_work() {
        let home = json!([{ "type": "home", "value": "ada@example.net" }]);
        let work = json!([{ "type": "Work", "value": "ada@example.org" }]);
        let email = vec![ScimUserChange::Email("ada@example.org".to_owned())];

        assert_eq!(patched(&json!({ "op": "add", "path": "emails", "value": home })), []);
        assert_eq!(patched(&json!({ "op": "add", "value": { "emails": home } })), []);
        assert_eq!(patched(&json!({ "op": "add", "path": "emails", "value": work })), email);
        let path = r#"emails[type eq "Work" and primary eq "True"].value"#;
        let replace = json!({ "op": "replace", "path": path, "value": "ada@example.org" });
        assert_eq!(patched(&replace), email);
    }

    #[test]
    fn an_element_without_a_value_is_no_address() {
        let created = |emails: Value| {
            let resource = json!({ "userName": "ada@example.org", "emails": emails });
            changes(creation(resource.as_object().unwrap()))
        };
        let name = ScimUserChange::UserName("ada@example.org".to_owned());

        for unassigned in
            [json!([{ "type": "work" }]), json!([{ "value": null }, { "value": " " }])]
        {
            assert_eq!(created(unassigned), std::slice::from_ref(&name));
        }

        let emails =
            json!([{ "value": null, "primary": true }, { "value": "x@y.example", "type": "work" }]);
        assert_eq!(created(emails), [name, ScimUserChange::Email("x@y.example".to_owned())]);
    }

    #[test]
    fn a_malformed_address_is_not_an_attempt_to_remove_it() {
        let resource = json!({ "userName": "ada", "emails": 5 });
        let refused = creation(resource.as_object().unwrap()).unwrap_err();

        assert_eq!(refused.code_and_message().0, "invalidValue");
    }

    #[test]
    fn a_replacement_clears_what_it_does_not_name() {
        let resource = json!({
            "userName": "ada", "emails": [], "name": { "givenName": "Ada", "formatted": "Ada L." },
        });

        let last = |is: fn(&ScimUserChange) -> bool| replaced(&resource).into_iter().rfind(is);

        assert_eq!(last(|it| matches!(it, ScimUserChange::Email(_))), None);
        assert_eq!(
            last(|it| matches!(it, ScimUserChange::DisplayName(_))),
            Some(ScimUserChange::DisplayName(Some("Ada L.".to_owned())))
        );
        assert_eq!(
            last(|it| matches!(it, ScimUserChange::GivenName(_))),
            Some(ScimUserChange::GivenName(Some("Ada".to_owned())))
        );
        assert_eq!(
            last(|it| matches!(it, ScimUserChange::FamilyName(_))),
            Some(ScimUserChange::FamilyName(None))
        );
    }
}
