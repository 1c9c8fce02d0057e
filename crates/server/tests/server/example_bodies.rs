//! Tests of all JSON routes with the examples of their bodies, each changed in one place.

use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::console::{Console, administrator};
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};
use uuid::Uuid;

/// OpenAPI documents, which contain the examples.
const DOCUMENTS: [&str; 2] = [
    include_str!("../../../../docs/openapi.json"),
    include_str!("../../../../docs/openapi-admin.json"),
];
/// Pointer to the example of an operation.
const EXAMPLE: &str = "/requestBody/content/application~1json/example";

on_both_databases!(a_nul_in_a_text_is_no_internal_error);

/// Example of a body.
struct Example {
    method: String,
    /// Path with an id that does not exist.
    path: String,
    body: Value,
}

/// Returns the examples of all routes.
fn examples() -> Vec<Example> {
    let mut examples = Vec::new();
    for document in DOCUMENTS {
        let document: Value = serde_json::from_str(document).expect("JSON");
        for (pattern, methods) in document["paths"].as_object().expect("paths") {
            for (method, operation) in methods.as_object().expect("methods") {
                if let Some(body) = operation.pointer(EXAMPLE) {
                    let method = method.to_uppercase();
                    examples.push(Example { method, path: path(pattern), body: body.clone() });
                }
            }
        }
    }

    assert!(examples.len() > 80, "{}", examples.len());
    examples
}

fn path(pattern: &str) -> String {
    let id = Uuid::nil().to_string();
    let parts = pattern.split('/').map(|it| if it.starts_with('{') { &*id } else { it });
    parts.collect::<Vec<_>>().join("/")
}

/// Returns the JSON pointers of all values in a body.
fn pointers(value: &Value, at: &str) -> Vec<String> {
    let children: Vec<(String, &Value)> = match value {
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, it)| (format!("{at}/{index}"), it)).collect()
        }
        Value::Object(members) => {
            members.iter().map(|(name, it)| (format!("{at}/{name}"), it)).collect()
        }
        _ => Vec::new(),
    };

    let mut pointers: Vec<String> =
        children.iter().flat_map(|(pointer, child)| pointers(child, pointer)).collect();
    pointers.extend(children.into_iter().map(|(pointer, _)| pointer));
    pointers
}

/// Returns a body with another value at a pointer.
fn with(body: &Value, pointer: &str, value: Value) -> Value {
    let mut body = body.clone();
    *body.pointer_mut(pointer).expect("a value") = value;
    body
}

/// Returns a body without the member at a pointer; `None` if that is an element of a list.
fn without(body: &Value, pointer: &str) -> Option<Value> {
    let mut body = body.clone();
    let (parent, name) = pointer.rsplit_once('/')?;
    body.pointer_mut(parent)?.as_object_mut()?.remove(name)?;
    Some(body)
}

/// Server with the senders of examples.
struct Senders {
    app: TestApp,
    console: Console,
}

impl Senders {
    async fn start(database: TestDatabase) -> Self {
        let setting = TestConfig::on(database)
            .with("Knowledge__ConnectionString", "embedded:vectors")
            .with("Operators__Enabled", true)
            .with("Workflow__Address", "embedded");
        let (app, _, console) = administrator(setting).await;
        Self { app, console }
    }

    /// Sends a body to the route of an example, as an administrator if it is one of the console.
    async fn send(&self, client: &Client, example: &Example, body: &Value) -> TestResponse {
        let Example { method, path, .. } = example;
        if path.starts_with("/api/admin/") {
            return self.console.write(method, path, body.clone()).await;
        }

        let json = [("content-type", "application/json")];
        client.send(method, path, &json, body.to_string().as_bytes()).await
    }
}

async fn a_nul_in_a_text_is_no_internal_error(database: TestDatabase) {
    let senders = Senders::start(database).await;

    for example in examples() {
        let client = senders.app.signed_in().await;
        let mut responses = Vec::new();
        for pointer in pointers(&example.body, "") {
            if let Some(Value::String(text)) = example.body.pointer(&pointer) {
                let body = with(&example.body, &pointer, json!(format!("{text}\0")));
                responses.push((pointer, senders.send(&client, &example, &body).await));
            }
        }

        // Without an upstream and pods, some routes are unavailable in any case.
        let unchanged_response = senders.send(&client, &example, &example.body).await;
        for (pointer, response) in responses {
            let Example { method, path, .. } = &example;
            let is_handled = response.status < 500 || response.status == unchanged_response.status;
            assert!(is_handled, "{method} {path} {pointer}: {}", response.text());
        }
    }

    assert_eq!(senders.console.get("/api/admin/session").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_null_is_accepted_wherever_a_member_may_be_absent() {
    let senders = Senders::start(TestDatabase::sqlite()).await;
    let mut examples = examples();
    // Bodies of other products, which distinguish both.
    examples.retain(|it| !it.path.contains("/v1/") && !it.path.starts_with("/api/ai/chat"));

    for example in examples {
        let client = senders.app.signed_in().await;
        for pointer in pointers(&example.body, "") {
            let Some(absent) = without(&example.body, &pointer) else { continue };
            let null = with(&example.body, &pointer, Value::Null);

            let absent_response = senders.send(&client, &example, &absent).await;
            let null_response = senders.send(&client, &example, &null).await;

            let Example { method, path, .. } = &example;
            let is_refused = absent_response.status != 400 && null_response.status == 400;
            assert!(!is_refused, "{method} {path} {pointer}: {}", null_response.text());
        }
    }
}
