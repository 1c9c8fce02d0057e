//! Servers over HTTP.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::Secret;
use pia_mcp_client::{McpClient, McpError};
use reqwest::Client;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use url::Url;
use wiremock::matchers::{header, method};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

const TOKEN: &str = "s3cret-token";
const LONG: Duration = Duration::from_secs(20);

fn client() -> Client {
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    Client::builder().tls_backend_preconfigured(tls).no_proxy().build().expect("a client")
}

async fn connect(server: &MockServer) -> Result<McpClient, McpError> {
    let url = server.uri().parse().expect("an address");
    McpClient::connect(url, client(), Some(Secret::new(TOKEN.to_owned()))).await
}

/// Responds as a server does, with this response to a call.
async fn server(call: impl Fn(&Value) -> ResponseTemplate + Send + Sync + 'static) -> MockServer {
    let server = MockServer::start().await;
    let respond = move |request: &Request| {
        let message: Value = request.body_json().expect("JSON");
        let result = json!({
            "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
            "serverInfo": { "name": "mock", "version": "1" },
        });
        match message["method"].as_str() {
            Some("initialize") => ResponseTemplate::new(200)
                .set_body_json(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })),
            Some("tools/call") => call(&message),
            _ => ResponseTemplate::new(202),
        }
    };
    let mock = Mock::given(method("POST"))
        .and(header("authorization", format!("Bearer {TOKEN}").as_str()))
        .respond_with(respond);
    mock.mount(&server).await;
    server
}

async fn call(client: &McpClient, limit: Duration) -> Result<Value, McpError> {
    Ok(client.call("a", Map::new(), limit, CancellationToken::new()).await?.content)
}

#[tokio::test]
async fn calls_are_authorized_and_have_results() {
    let server = server(|message| {
        let result = json!({ "content": [{ "type": "text", "text": "done" }] });
        let response = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        ResponseTemplate::new(200).set_body_json(response)
    })
    .await;
    let client = connect(&server).await.expect("a client");

    assert_eq!(call(&client, LONG).await.expect("a result"), "done");
}

#[tokio::test]
async fn events_are_results_too() {
    let server = server(|message| {
        let result = json!({ "content": [{ "type": "text", "text": "done" }] });
        let response = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        let events = format!("event: message\ndata: {response}\n\n");
        ResponseTemplate::new(200).set_body_raw(events, "text/event-stream")
    })
    .await;
    let client = connect(&server).await.expect("a client");

    assert_eq!(call(&client, LONG).await.expect("a result"), "done");
}

#[tokio::test]
async fn errors_do_not_reveal_the_token() {
    let server = server(|message| {
        let error = json!({ "code": -32603, "message": format!("no {TOKEN}") });
        let response = json!({ "jsonrpc": "2.0", "id": message["id"], "error": error });
        ResponseTemplate::new(200).set_body_json(response)
    })
    .await;
    let client = connect(&server).await.expect("a client");

    let error = call(&client, LONG).await.expect_err("an error");

    assert_eq!(error.to_string(), "the MCP server returned an error: no ***");
    assert!(!format!("{client:?} {error:?}").contains(TOKEN));
}

#[tokio::test]
async fn responses_that_are_too_large_are_errors() {
    let large = "x".repeat(5 * 1024 * 1024);
    let server = server(move |message| {
        let response = json!({ "jsonrpc": "2.0", "id": message["id"], "result": large });
        ResponseTemplate::new(200).set_body_json(response)
    })
    .await;
    let client = connect(&server).await.expect("a client");

    let error = call(&client, LONG).await.expect_err("an error");

    let expected = "the MCP server cannot be reached: its response is too large";
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn a_response_that_does_not_come_is_not_waited_for() {
    let server = server(|_| ResponseTemplate::new(200).set_delay(Duration::from_mins(1))).await;
    let client = connect(&server).await.expect("a client");
    let limit = Duration::from_millis(300);

    let late = call(&client, limit).await;

    assert!(matches!(late, Err(McpError::TimedOut(it)) if it == limit), "{late:?}");
    tokio::time::timeout(LONG, async {
        loop {
            let requests = server.received_requests().await.expect("requests");
            let mut bodies = requests.iter().map(|it| String::from_utf8_lossy(&it.body));
            if bodies.any(|it| it.contains("notifications/cancelled")) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
    .expect("a notification");
}

#[tokio::test]
async fn a_server_that_is_not_one_is_explained() {
    let refusing = MockServer::start().await;
    Mock::given(method("POST")).respond_with(ResponseTemplate::new(401)).mount(&refusing).await;
    let broken = MockServer::start().await;
    let template = ResponseTemplate::new(500).set_body_string(TOKEN);
    Mock::given(method("POST")).respond_with(template).mount(&broken).await;
    let ftp = "ftp://127.0.0.1/".parse().expect("an address");
    let closed_address = "http://127.0.0.1:1/?key=s3cret".parse().expect("an address");

    let token_error = connect(&refusing).await.expect_err("an error");
    let status_error = connect(&broken).await.expect_err("an error");
    let no_http = McpClient::connect(ftp, client(), None).await.expect_err("an error");
    let no_server = McpClient::connect(closed_address, client(), None).await.expect_err("an error");

    assert!(matches!(token_error, McpError::Unauthorized), "{token_error:?}");
    assert_eq!(status_error.to_string(), "the MCP server cannot be reached: status 500");
    assert!(matches!(no_http, McpError::Address), "{no_http:?}");
    assert_eq!(no_server.to_string(), "the MCP server cannot be reached: no connection");
}

/// Starts a server whose responses have no end.
async fn endless(content_type: &'static str) -> (JoinSet<()>, Url) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\n\r\ndata: ");
            stream.write_all(head.as_bytes()).await.ok();
            while stream.write_all(&[b'x'; 8 * 1024]).await.is_ok() {}
        }
    });
    (serving, format!("http://{address}/").parse().expect("an address"))
}

#[tokio::test]
async fn responses_without_an_end_are_errors() {
    for content_type in ["application/json", "text/event-stream"] {
        let (_serving, url) = endless(content_type).await;

        let connected = McpClient::connect(url, client(), None).await;

        let is_ended = matches!(connected, Err(McpError::Transport(_) | McpError::Closed));
        assert!(is_ended, "{connected:?}");
    }
}
