//! The `Group` resource.

use pia_kernel::UserId;
use pia_policy::Group;
use serde_json::{Value, json};

use crate::scim::Scim;

/// Schema of groups (RFC 7643, 4.2).
pub(crate) const GROUP_SCHEMA: &str = "urn:ietf:params:scim:schemas:core:2.0:Group";

impl Scim {
    /// Returns the resource of a group, with these members.
    pub(crate) fn group_resource(&self, group: &Group, members: &[(UserId, String)]) -> Value {
        let id = group.id.to_string();

        let member = |(user, email): &(UserId, String)| {
            let user = user.to_string();
            json!({
                "value": user,
                "$ref": self.location("Users", &user),
                "display": email,
                "type": "User",
            })
        };

        let mut resource = json!({
            "schemas": [GROUP_SCHEMA],
            "id": id,
            "displayName": group.name.as_str(),
            "members": members.iter().map(member).collect::<Vec<_>>(),
            "meta": {
                "resourceType": "Group",
                "created": group.created_at,
                "location": self.location("Groups", &id),
            },
        });

        if let (Some(members), Some(id)) = (resource.as_object_mut(), &group.external_id) {
            members.insert("externalId".to_owned(), id.as_str().into());
        }

        resource
    }
}
