//! Selection of the attributes of a response: `attributes` and
//! `excludedAttributes`.
//!
//! `attributes` has precedence: beside it, `excludedAttributes` is ignored.
//! Names are compared in lower case and without their schema.

use serde_json::Value;

use crate::list::ScimQuery;

/// Attributes that every response has.
const ALWAYS: [&str; 2] = ["schemas", "id"];

impl ScimQuery {
    /// Returns whether the response has this attribute.
    pub(crate) fn includes(&self, attribute: &str) -> bool {
        let named = |list: &str| names(list).any(|it| attribute_of(&it) == attribute);
        match (&self.attributes, &self.excluded_attributes) {
            (Some(list), _) => ALWAYS.contains(&attribute) || named(list),
            (None, Some(list)) => {
                let excluded = names(list).any(|it| it == attribute);
                ALWAYS.contains(&attribute) || !excluded
            }
            (None, None) => true,
        }
    }

    /// Returns a resource with the selected attributes.
    pub(crate) fn select(&self, mut resource: Value) -> Value {
        if let Some(members) = resource.as_object_mut() {
            members.retain(|name, _| self.includes(&name.to_ascii_lowercase()));
            for (name, value) in members.iter_mut() {
                let name = name.to_ascii_lowercase();
                let Some(parts) = value.as_object_mut() else { continue };
                parts.retain(|part, _| self.includes_part(&name, &part.to_ascii_lowercase()));
            }
        }
        resource
    }

    /// Returns whether the response has a part of a complex attribute.
    fn includes_part(&self, name: &str, part: &str) -> bool {
        let full_name = format!("{name}.{part}");
        match (&self.attributes, &self.excluded_attributes) {
            (Some(list), _) => names(list).any(|it| it == name || it == full_name),
            (None, Some(list)) => !names(list).any(|it| it == full_name),
            (None, None) => true,
        }
    }
}

/// Returns the names of a list, in lower case and without the schema.
fn names(list: &str) -> impl Iterator<Item = String> + '_ {
    list.split(',').map(|it| {
        let name = it.trim().to_ascii_lowercase();
        match name.rsplit_once(':') {
            Some((_schema, attribute)) => attribute.to_owned(),
            None => name,
        }
    })
}

fn attribute_of(name: &str) -> &str {
    name.split_once('.').map_or(name, |(attribute, _)| attribute)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn selected(attributes: Option<&str>, excluded: Option<&str>) -> Value {
        let query = ScimQuery {
            attributes: attributes.map(str::to_owned),
            excluded_attributes: excluded.map(str::to_owned),
            ..ScimQuery::default()
        };
        query.select(json!({
            "schemas": [], "id": "1", "userName": "ada", "name": { "givenName": "A", "familyName": "L" },
        }))
    }

    #[test]
    fn named_attributes_are_returned_and_the_id_always_is() {
        assert_eq!(
            selected(Some("USERNAME"), None),
            json!({ "schemas": [], "id": "1", "userName": "ada" })
        );
        assert_eq!(
            selected(Some("urn:ietf:params:scim:schemas:core:2.0:User:name.givenName"), None),
            json!({ "schemas": [], "id": "1", "name": { "givenName": "A" } })
        );
    }

    #[test]
    fn excluded_attributes_are_left_out_and_the_id_never_is() {
        let expected = json!({ "schemas": [], "id": "1", "name": { "givenName": "A" } });
        assert_eq!(selected(None, Some("id, userName,name.familyName")), expected);
    }
}
