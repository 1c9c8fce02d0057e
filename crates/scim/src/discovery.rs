//! Discovery of the supported features: `/ServiceProviderConfig`, `/ResourceTypes`
//! and `/Schemas` (RFC 7643, 5 to 7).

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use pia_web::ApiError;
use serde_json::{Value, json};

use crate::group_resource::GROUP_SCHEMA;
use crate::list::{MAX_COUNT, ScimQuery};
use crate::refusals::not_found;
use crate::scim::{Scim, respond_whole};
use crate::user_resource::USER_SCHEMA;

pub(crate) async fn service_provider_config(scim: Data<Scim>) -> HttpResponse {
    let unsupported = json!({ "supported": false });
    let config = json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
        "patch": { "supported": true },
        "bulk": { "supported": false, "maxOperations": 0, "maxPayloadSize": 0 },
        "filter": { "supported": true, "maxResults": MAX_COUNT },
        "changePassword": unsupported,
        "sort": unsupported,
        "etag": { "supported": true },
        "authenticationSchemes": [{
            "type": "oauthbearertoken",
            "name": "SCIM token",
            "description": "Token that an administrator created, in the header `Authorization`.",
            "primary": true,
        }],
        "meta": {
            "resourceType": "ServiceProviderConfig",
            "location": format!("{}/scim/v2/ServiceProviderConfig", scim.public_url),
        },
    });

    respond_whole(&config)
}

pub(crate) async fn resource_types(scim: Data<Scim>) -> HttpResponse {
    respond_whole(&list_response(&types(&scim)))
}

pub(crate) async fn resource_type(
    scim: Data<Scim>,
    name: Path<String>,
) -> Result<HttpResponse, ApiError> {
    find(types(&scim), &name)
}

pub(crate) async fn schemas(scim: Data<Scim>) -> HttpResponse {
    respond_whole(&list_response(&definitions(&scim)))
}

pub(crate) async fn schema(scim: Data<Scim>, id: Path<String>) -> Result<HttpResponse, ApiError> {
    find(definitions(&scim), &id)
}

fn list_response(resources: &[Value]) -> Value {
    ScimQuery::default().page(resources.len() as u64, resources)
}

fn find(resources: [Value; 2], id: &str) -> Result<HttpResponse, ApiError> {
    resources
        .into_iter()
        .find(|it| it["id"].as_str() == Some(id))
        .map(|it| respond_whole(&it))
        .ok_or_else(not_found)
}

fn types(scim: &Scim) -> [Value; 2] {
    [("User", "Users", USER_SCHEMA), ("Group", "Groups", GROUP_SCHEMA)].map(
        |(name, collection, schema)| {
            json!({
                "schemas": ["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],
                "id": name,
                "name": name,
                "endpoint": format!("/{collection}"),
                "schema": schema,
                "meta": {
                    "resourceType": "ResourceType",
                    "location": scim.location("ResourceTypes", name),
                },
            })
        },
    )
}

fn definitions(scim: &Scim) -> [Value; 2] {
    [
        ("User", USER_SCHEMA, &user_attributes()[..]),
        ("Group", GROUP_SCHEMA, &group_attributes()[..]),
    ]
    .map(|(name, id, attributes)| {
        json!({
            "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Schema"],
            "id": id,
            "name": name,
            "description": name,
            "attributes": attributes.iter().map(Attribute::definition).collect::<Vec<_>>(),
            "meta": { "resourceType": "Schema", "location": scim.location("Schemas", id) },
        })
    })
}

fn user_attributes() -> [Attribute; 7] {
    [
        Attribute { required: true, unique: true, ..Attribute::text("userName") },
        Attribute { unique: true, exact: true, ..Attribute::text("externalId") },
        Attribute::text("displayName"),
        Attribute {
            parts: &["formatted", "givenName", "familyName"],
            ..Attribute::complex("name")
        },
        Attribute { kind: "boolean", ..Attribute::text("active") },
        Attribute {
            many: true,
            required: true,
            parts: &["value", "type", "primary"],
            ..Attribute::complex("emails")
        },
        Attribute {
            many: true,
            read_only: true,
            parts: &["value", "$ref", "display", "type"],
            ..Attribute::complex("groups")
        },
    ]
}

fn group_attributes() -> [Attribute; 3] {
    [
        Attribute { required: true, unique: true, ..Attribute::text("displayName") },
        Attribute { unique: true, exact: true, ..Attribute::text("externalId") },
        Attribute {
            many: true,
            parts: &["value", "$ref", "display", "type"],
            ..Attribute::complex("members")
        },
    ]
}

/// Attribute of a schema.
#[expect(clippy::struct_excessive_bools, reason = "characteristics that RFC 7643 lists")]
struct Attribute {
    name: &'static str,
    kind: &'static str,
    many: bool,
    required: bool,
    read_only: bool,
    unique: bool,
    /// True if values are compared with regard to case.
    exact: bool,
    /// Parts of a complex attribute.
    parts: &'static [&'static str],
}

impl Attribute {
    fn text(name: &'static str) -> Self {
        Self {
            name,
            kind: "string",
            many: false,
            required: false,
            read_only: false,
            unique: false,
            exact: false,
            parts: &[],
        }
    }

    fn complex(name: &'static str) -> Self {
        Self { kind: "complex", ..Self::text(name) }
    }

    fn definition(&self) -> Value {
        let mutability = if self.read_only { "readOnly" } else { "readWrite" };

        let parts = self.parts.iter().map(|name| {
            let kind = match *name {
                "primary" => "boolean",
                "$ref" => "reference",
                _ => "string",
            };
            let part = Self { kind, read_only: self.read_only, ..Self::text(name) };
            let mut definition = part.definition();
            if let (Some(members), "reference") = (definition.as_object_mut(), kind) {
                members.insert("referenceTypes".to_owned(), json!(["User", "Group"]));
            }

            definition
        });

        let mut definition = json!({
            "name": self.name,
            "type": self.kind,
            "multiValued": self.many,
            "description": self.name,
            "required": self.required,
            "caseExact": self.exact,
            "mutability": mutability,
            "returned": "default",
            "uniqueness": if self.unique { "server" } else { "none" },
        });

        if let (Some(members), false) = (definition.as_object_mut(), self.parts.is_empty()) {
            members.insert("subAttributes".to_owned(), parts.collect::<Vec<_>>().into());
        }

        definition
    }
}
