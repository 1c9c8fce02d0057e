//! Users and groups that an identity provider manages by SCIM.

mod entra;
mod groups;
mod okta;
mod tokens;
mod users;

use std::fmt::Write as _;

use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::console::{Console, administrator, scim_client};
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

const USERS: &str = "/scim/v2/Users";
const GROUPS: &str = "/scim/v2/Groups";
const USER_SCHEMA: &str = "urn:ietf:params:scim:schemas:core:2.0:User";
const GROUP_SCHEMA: &str = "urn:ietf:params:scim:schemas:core:2.0:Group";

/// Server with an administrator's console and an identity provider.
struct Provisioned {
    app: TestApp,
    console: Console,
    provider: Client,
}

impl Provisioned {
    async fn on(database: TestDatabase) -> Self {
        let setting = TestConfig::on(database).with("Server__PublicUrl", "http://test");
        let (app, _, console) = administrator(setting).await;
        let provider = scim_client(&app, &console).await;
        Self { app, console, provider }
    }

    async fn send(&self, method: &str, path: &str, body: Value) -> TestResponse {
        self.send_with(method, path, &[], body).await
    }

    async fn send_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Value,
    ) -> TestResponse {
        let json = [("content-type", "application/scim+json"), ("accept", "application/scim+json")];
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        self.provider.send(method, path, &[&json[..], headers].concat(), &body).await
    }

    /// Creates a user; returns the resource.
    async fn create_user(&self, name: &str) -> Value {
        let user = json!({ "schemas": [USER_SCHEMA], "userName": name, "active": true });
        let creation_response = self.send("POST", USERS, user).await;
        assert_eq!(creation_response.status, 201, "{}", creation_response.text());
        creation_response.body
    }

    /// Creates a group; returns the resource.
    async fn create_group(&self, name: &str) -> Value {
        let group = json!({ "schemas": [GROUP_SCHEMA], "displayName": name });
        let creation_response = self.send("POST", GROUPS, group).await;
        assert_eq!(creation_response.status, 201, "{}", creation_response.text());
        creation_response.body
    }

    /// Sends a `PATCH` that must succeed; returns the resource.
    async fn patch(&self, resource: &Value, operations: Value) -> Value {
        let path = path_of(resource);
        let answer = self.send("PATCH", &path, patch(&operations)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.body
    }
}

fn patch(operations: &Value) -> Value {
    json!({
        "schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], "Operations": operations,
    })
}

/// Returns the path of a resource, from its location.
fn path_of(resource: &Value) -> String {
    let location = resource["meta"]["location"].as_str().expect("a location");
    location.strip_prefix("http://test").expect("an address of this server").to_owned()
}

fn id_of(resource: &Value) -> &str {
    resource["id"].as_str().expect("an id")
}

/// Returns a filter as part of a query.
fn filtered(path: &str, filter: &str) -> String {
    let mut path = format!("{path}?filter=");
    for byte in filter.bytes() {
        write!(path, "%{byte:02X}").expect("text");
    }
    path
}
