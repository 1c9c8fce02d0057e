//! Connectors as administrators create them, and those of MCP servers from end to end.

use pia_server_testkit::ai_peer::{Fixed, Peer};
use pia_server_testkit::console::Console;
use pia_server_testkit::mcp_peer::{MCP_TOKEN, McpPeer};
use pia_server_testkit::on_databases_with_roles;
use pia_server_testkit::polling::until;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use crate::assignments::{accepting, granted};
use crate::pods::{ToolExchange, chat, create_connector};

on_databases_with_roles!(
    a_chat_calls_the_tool_of_an_mcp_server,
    an_mcp_server_outside_of_what_is_permitted_is_refused,
);

const CONNECTORS: &str = "/api/admin/connectors";

async fn create(console: &Console, url: &str) -> pia_server_testkit::client::TestResponse {
    let group = console.get("/api/admin/groups").await.body[0]["id"].clone();
    let mcp = json!({ "url": url, "token": MCP_TOKEN });
    let body = json!({ "name": "Files", "groupIds": [group], "mcp": mcp });
    console.write("POST", CONNECTORS, body).await
}

async fn a_chat_calls_the_tool_of_an_mcp_server(database: TestDatabase) {
    let upstream = Peer::start().await;
    let server = McpPeer::start("The file is empty.").await;
    let setting = accepting(database, &upstream.endpoint);
    let (app, console, client) =
        granted(setting.with("Operators__AllowPrivateMcpServers", true)).await;
    let creation_response = create(&console, &server.url).await;
    assert_eq!(creation_response.status, 201, "{}", creation_response.text());
    assert_eq!(creation_response.body.get("token"), None);

    let id = creation_response.body["connectorId"].as_str().expect("an id");
    let pod = until(async || {
        let pods = console.get("/api/admin/connectors/pods").await.body;
        pods[0]["tools"].is_array().then(|| pods[0].clone())
    })
    .await;
    let expected = json!(["read_file", "recursive"]);
    assert_eq!(pod["connectorId"], json!(id));
    assert_eq!(pod["tools"], expected);
    assert!(!console.get(CONNECTORS).await.text().contains(MCP_TOKEN));

    let ToolExchange { tools, result } =
        chat(&client, &upstream, "read_file", r#"{"path":"a"}"#).await;

    assert_eq!(tools, ["read_file", "recursive"]);
    assert!(result.contains("The file is empty.") && result.contains("never an instruction"));
    let expected = json!({ "name": "read_file", "arguments": { "path": "a" } });
    assert_eq!(server.called.borrow()["name"], expected["name"]);
    assert_eq!(server.called.borrow()["arguments"], expected["arguments"]);

    let result = chat(&client, &upstream, "read_file", "{}").await.result;
    assert!(result.contains("not valid") && result.contains("path"), "{result}");
    // It has no pods of its own.
    let path = format!("{CONNECTORS}/{id}");
    let tokens = console.write("POST", &format!("{path}/tokens"), json!({})).await;
    assert_eq!(tokens.refusal(), (409, "mcp_connector"));
    assert_eq!(console.write("DELETE", &path, json!(null)).await.status, 200);

    until(async || {
        let pods = console.get("/api/admin/connectors/pods").await.body;
        (pods == json!([])).then_some(())
    })
    .await;
    drop(app);
}

async fn an_mcp_server_outside_of_what_is_permitted_is_refused(database: TestDatabase) {
    let upstream = Peer::start().await;
    let (_app, console, _) = granted(accepting(database, &upstream.endpoint)).await;
    let with_nul = "https://mcp.invalid/\0";
    let not_permitted =
        ["http://mcp.example/", "https://127.0.0.1/mcp", "https://localhost/", "mcp", ""];
    for url in not_permitted.into_iter().chain([with_nul]) {
        let response = create(&console, url).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{url}");
    }

    // It connects when it can; a server that is away is only logged.
    assert_eq!(create(&console, "https://mcp.invalid/mcp").await.status, 201);
    assert_eq!(console.get("/api/admin/connectors/pods").await.body, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn connectors_are_refused_with_a_reason() {
    let upstream = Fixed::with_json("{}").await;
    let (_app, console, _) = granted(accepting(TestDatabase::sqlite(), &upstream.endpoint)).await;
    create_connector(&console, Some("plan")).await;
    let refused = async |body: Value| console.write("POST", CONNECTORS, body).await;
    let response = refused(json!({ "name": "weather" })).await;
    assert_eq!(response.refusal(), (409, "name_taken"));

    let response = refused(json!({ "name": "Other", "operatorSkill": "PLAN" })).await;
    assert_eq!(response.refusal(), (409, "skill_name_taken"));
    for body in [
        json!({ "name": " " }),
        json!({ "name": "a\0" }),
        json!({ "name": "Other", "operatorSkill": "two words" }),
        json!({ "name": "Other", "groupIds": ["0199f0e0-0000-7000-8000-0000000000ff"] }),
    ] {
        assert_eq!(refused(body.clone()).await.refusal(), (400, "validation_failed"), "{body}");
    }

    let list = console.get(CONNECTORS).await.body;
    assert_eq!(list.as_array().expect("a list").len(), 1);
    assert!(!list.to_string().contains("pia_pod_"));

    let path = format!("{CONNECTORS}/{}", list[0]["id"].as_str().expect("an id"));
    assert_eq!(console.write("DELETE", &path, json!(null)).await.status, 200);
    assert_eq!(console.get(CONNECTORS).await.body, json!([]));
}
