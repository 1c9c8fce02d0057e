//! Rows of users that SCIM clients manage.
//!
//! A user without a row in `scim_users` has the email address as `userName`,
//! and the account's creation as the last change.

use diesel::prelude::*;
use pia_identity::{ScimUser, ScimUserAttributes, fold_email};
use pia_kernel::{GroupId, Timestamp, UserId};
use pia_storage::schema::{accounts, scim_users};
use pia_storage::{DbInstant, DbUid};

/// Attributes of a user beside those of the account.
#[derive(Insertable, AsChangeset, Queryable, Selectable)]
#[diesel(table_name = scim_users, treat_none_as_null = true)]
pub(super) struct AttributesRow {
    pub(super) user_id: DbUid,
    user_name: Option<String>,
    pub(super) user_name_folded: Option<String>,
    pub(super) external_id: Option<String>,
    given_name: Option<String>,
    family_name: Option<String>,
    pub(super) updated_at: DbInstant,
    withdrawn_at: Option<DbInstant>,
}

/// Columns of an account that are attributes of SCIM users.
#[derive(Queryable, Selectable)]
#[diesel(table_name = accounts)]
pub(super) struct AccountRow {
    id: DbUid,
    email: String,
    display_name: Option<String>,
    created_at: DbInstant,
    deactivated_at: Option<DbInstant>,
    role: String,
    group_id: DbUid,
}

/// User: account, other attributes, and name of the group.
pub(super) type UserRow = (AccountRow, Option<AttributesRow>, String);

/// User, with the name of the role of their account.
pub(super) struct UserWithRole {
    pub(super) user: ScimUser,
    pub(super) role: String,
}

/// Columns of a [`UserRow`], for either backend.
macro_rules! user_columns {
    () => {
        (AccountRow::as_select(), Option::<AttributesRow>::as_select(), user_groups::name)
    };
}

pub(super) use user_columns;

impl AttributesRow {
    pub(super) fn new(user_id: DbUid, attributes: &ScimUserAttributes, at: Timestamp) -> Self {
        Self {
            user_id,
            user_name_folded: Some(fold_user_name(&attributes.user_name)),
            user_name: Some(attributes.user_name.clone()),
            external_id: attributes.external_id.clone(),
            given_name: attributes.given_name.clone(),
            family_name: attributes.family_name.clone(),
            updated_at: DbInstant(at),
            withdrawn_at: None,
        }
    }

    /// Returns the row of a user whom a client deleted: their attributes are
    /// free for others.
    pub(super) fn withdrawn(user_id: DbUid, at: Timestamp) -> Self {
        Self { withdrawn_at: Some(DbInstant(at)), ..Self::empty(user_id, at) }
    }

    /// Returns a row without attributes.
    fn empty(user_id: DbUid, at: Timestamp) -> Self {
        Self {
            user_id,
            user_name: None,
            user_name_folded: None,
            external_id: None,
            given_name: None,
            family_name: None,
            updated_at: DbInstant(at),
            withdrawn_at: None,
        }
    }
}

/// Returns the form in which names are compared, with each other and with
/// email addresses.
pub(super) fn fold_user_name(user_name: &str) -> String {
    fold_email(user_name)
}

/// Returns the user of a row.
pub(super) fn to_user((account, attributes, group_name): UserRow) -> UserWithRole {
    let created_at = account.created_at.0;
    let attributes = attributes.unwrap_or_else(|| AttributesRow::empty(account.id, created_at));

    let user = ScimUser {
        user: UserId(account.id.0),
        attributes: ScimUserAttributes {
            user_name: attributes.user_name.unwrap_or_else(|| account.email.clone()),
            external_id: attributes.external_id,
            email: account.email,
            display_name: account.display_name,
            given_name: attributes.given_name,
            family_name: attributes.family_name,
        },
        is_active: account.deactivated_at.is_none(),
        group: GroupId(account.group_id.0),
        group_name,
        created_at,
        updated_at: attributes.updated_at.0,
    };

    UserWithRole { user, role: account.role }
}

/// Returns the names of the attributes that differ, without values, for the audit log:
/// values would identify a person.
pub(super) fn changed_attributes(
    before: &ScimUserAttributes,
    after: &ScimUserAttributes,
) -> Vec<&'static str> {
    let comparisons = [
        ("userName", before.user_name != after.user_name),
        ("externalId", before.external_id != after.external_id),
        ("emails", before.email != after.email),
        ("displayName", before.display_name != after.display_name),
        ("name.givenName", before.given_name != after.given_name),
        ("name.familyName", before.family_name != after.family_name),
    ];
    comparisons.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}
