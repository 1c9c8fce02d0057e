//! Attributes of a SCIM user, and the changes that clients make.
//!
//! The crate `scim` parses requests into `ScimUserChange`s.
//! `ScimUserAttributes::new` applies them to a new user, `with` to an
//! existing one; the store calls `with` under the account's lock, so that
//! changes of two clients do not overwrite each other.

use std::fmt::Write as _;

use pia_kernel::{GroupId, Timestamp, UserId};
use ring::digest;

use crate::people::email::{self, fold_email};
use crate::violation::{self, Violation};

/// Attributes of a user that SCIM clients change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScimUserAttributes {
    /// Unique name, compared without regard to case.
    pub user_name: String,
    /// Id at the identity provider, unique.
    pub external_id: Option<String>,
    /// Email address of the account.
    pub email: String,
    /// Name that others see; not composed of the other names.
    pub display_name: Option<String>,
    /// First name.
    pub given_name: Option<String>,
    /// Last name.
    pub family_name: Option<String>,
}

/// User as SCIM clients see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScimUser {
    /// Account's id, which is the `id` of the SCIM resource.
    pub user: UserId,
    /// Attributes that SCIM clients change.
    pub attributes: ScimUserAttributes,
    /// False if the account is deactivated.
    pub is_active: bool,
    /// Group that the user is in.
    pub group: GroupId,
    /// Display name of that group.
    pub group_name: String,
    /// Creation time of the account.
    pub created_at: Timestamp,
    /// Time of the last change by a SCIM client.
    pub updated_at: Timestamp,
}

/// Change of one attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScimUserChange {
    /// Sets the unique name. An email address that was the same follows it.
    UserName(String),
    /// Sets or clears the id at the identity provider.
    ExternalId(Option<String>),
    /// Sets the email address.
    Email(String),
    /// Sets or clears the display name.
    DisplayName(Option<String>),
    /// Sets or clears the first name.
    GivenName(Option<String>),
    /// Sets or clears the last name.
    FamilyName(Option<String>),
}

impl ScimUser {
    /// Returns the version of the resource: a hash over all that clients see.
    pub fn version(&self) -> String {
        let Self { user, attributes, is_active, group, group_name, created_at, updated_at } = self;
        let ScimUserAttributes { user_name, external_id, email, display_name, .. } = attributes;
        let fields = [
            Some(user.to_string()),
            Some(user_name.clone()),
            external_id.clone(),
            Some(email.clone()),
            display_name.clone(),
            attributes.given_name.clone(),
            attributes.family_name.clone(),
            Some(is_active.to_string()),
            Some(group.to_string()),
            Some(group_name.clone()),
            Some(created_at.to_string()),
            Some(updated_at.to_string()),
        ];

        let mut context = digest::Context::new(&digest::SHA256);
        for field in &fields {
            // A line is either absent or a text, none of which has a line feed.
            context.update(field.as_deref().unwrap_or("\r").as_bytes());
            context.update(b"\n");
        }

        let hash = context.finish();
        hash.as_ref().iter().take(16).fold(String::new(), |mut text, byte| {
            let _infallible = write!(text, "{byte:02x}");
            text
        })
    }
}

impl ScimUserAttributes {
    /// Returns the attributes of a new user.
    pub fn new(changes: &[ScimUserChange]) -> Result<Self, Violation> {
        let blank = Self {
            user_name: String::new(),
            external_id: None,
            email: String::new(),
            display_name: None,
            given_name: None,
            family_name: None,
        };
        let created = blank.with(changes)?;
        if created.user_name.is_empty() {
            return Err(Violation::new("userName", "required", "`userName` is required."));
        }
        if created.email.is_empty() {
            let message = "`emails`, or a `userName` that is an email address, is required.";
            return Err(Violation::new("emails", "required", message));
        }

        Ok(created)
    }

    /// Returns the attributes after some changes.
    pub fn with(&self, changes: &[ScimUserChange]) -> Result<Self, Violation> {
        let mut attributes = self.clone();
        for change in changes {
            match change {
                ScimUserChange::UserName(name) => {
                    attributes.user_name = parse_id("userName", Some(name))?.ok_or_else(|| {
                        Violation::new("userName", "required", "`userName` is required.")
                    })?;
                }
                ScimUserChange::ExternalId(id) => {
                    attributes.external_id = parse_id("externalId", id.as_deref())?;
                }
                ScimUserChange::Email(email) => attributes.email = parse_email(email)?,
                ScimUserChange::DisplayName(name) => {
                    attributes.display_name = parse_name("displayName", name.as_deref())?;
                }
                ScimUserChange::GivenName(name) => {
                    attributes.given_name = parse_name("name.givenName", name.as_deref())?;
                }
                ScimUserChange::FamilyName(name) => {
                    attributes.family_name = parse_name("name.familyName", name.as_deref())?;
                }
            }
        }

        let sets_email = changes.iter().any(|it| matches!(it, ScimUserChange::Email(_)));
        let email_was_user_name = fold_email(&self.email) == fold_email(&self.user_name);
        if !sets_email && email_was_user_name && attributes.user_name != self.user_name {
            // A `userName` that is no address leaves the email as it is.
            if let Ok(email) = email::parse(&attributes.user_name) {
                attributes.email = email;
            }
        }

        Ok(attributes)
    }
}

fn parse_email(email: &str) -> Result<String, Violation> {
    email::parse(email).map_err(|it| Violation { field: "emails", ..it })
}

fn parse_name(field: &'static str, input: Option<&str>) -> Result<Option<String>, Violation> {
    violation::parse_name(field, "The name", input)
}

fn parse_id(field: &'static str, input: Option<&str>) -> Result<Option<String>, Violation> {
    violation::parse_name(field, "The value", input)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user_name(name: &str) -> ScimUserChange {
        ScimUserChange::UserName(name.to_owned())
    }

    fn email(email: &str) -> ScimUserChange {
        ScimUserChange::Email(email.to_owned())
    }

    #[test]
    fn a_user_name_that_is_an_address_is_the_email_unless_another_is_granted() {
        let attributes = ScimUserAttributes::new(&[user_name("ada@example.org")]).unwrap();
        let changes = [user_name("ada"), email("ada@example.org")];
        let both = ScimUserAttributes::new(&changes).unwrap();

        assert_eq!(attributes.email, "ada@example.org");
        assert_eq!(both.user_name, "ada");
        assert_eq!(both.email, "ada@example.org");
    }

    #[test]
    fn a_new_user_needs_a_name_and_an_address() {
        let field =
            |changes: &[ScimUserChange]| ScimUserAttributes::new(changes).unwrap_err().field;

        assert_eq!(field(&[]), "userName");
        assert_eq!(field(&[user_name("ada")]), "emails");
        assert_eq!(field(&[user_name("ada"), email("nonsense")]), "emails");
    }

    #[test]
    fn an_email_follows_the_user_name_only_where_both_were_the_same() {
        let equal = ScimUserAttributes::new(&[user_name("ada@example.org")]).unwrap();
        let different = equal.with(&[email("lovelace@example.org")]).unwrap();

        let changed_equal = equal.with(&[user_name("countess@example.org")]).unwrap();
        let changed_different = different.with(&[user_name("countess@example.org")]).unwrap();

        assert_eq!(changed_equal.email, "countess@example.org");
        assert_eq!(changed_different.email, "lovelace@example.org");
    }

    #[test]
    fn the_version_changes_with_the_resource() {
        let attributes = ScimUserAttributes::new(&[user_name("ada@example.org")]).unwrap();
        let user = ScimUser {
            user: UserId::generate(),
            attributes,
            is_active: true,
            group: GroupId::generate(),
            group_name: "Default".to_owned(),
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        let inactive = ScimUser { is_active: false, ..user.clone() };

        assert_eq!(user.version(), user.clone().version());
        assert_ne!(user.version(), inactive.version());
    }
}
