//! The `User` resource.

use pia_identity::{ScimUser, ScimUserAttributes};
use serde_json::{Map, Value, json};

use crate::scim::Scim;
use crate::version::tag;

/// Schema of users (RFC 7643, 4.1).
pub(crate) const USER_SCHEMA: &str = "urn:ietf:params:scim:schemas:core:2.0:User";

impl Scim {
    /// Returns the resource of a user.
    pub(crate) fn user_resource(&self, user: &ScimUser) -> Value {
        let ScimUserAttributes { user_name, external_id, email, display_name, .. } =
            &user.attributes;
        let id = user.user.to_string();
        let group = user.group.to_string();
        let mut resource = json!({
            "schemas": [USER_SCHEMA],
            "id": id,
            "userName": user_name,
            "active": user.is_active,
            "emails": [{ "value": email, "type": "work", "primary": true }],
            "groups": [{
                "value": group,
                "$ref": self.location("Groups", &group),
                "display": user.group_name,
                "type": "direct",
            }],
            "meta": {
                "resourceType": "User",
                "created": user.created_at,
                "lastModified": user.updated_at,
                "location": self.location("Users", &id),
                "version": tag(&user.version()),
            },
        });

        if let Some(members) = resource.as_object_mut() {
            put(members, "externalId", external_id.as_deref());
            put(members, "displayName", display_name.as_deref());
            let mut name = Map::new();
            put(&mut name, "formatted", display_name.as_deref());
            put(&mut name, "givenName", user.attributes.given_name.as_deref());
            put(&mut name, "familyName", user.attributes.family_name.as_deref());
            if !name.is_empty() {
                members.insert("name".to_owned(), name.into());
            }
        }

        resource
    }
}

fn put(members: &mut Map<String, Value>, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        members.insert(name.to_owned(), value.into());
    }
}
