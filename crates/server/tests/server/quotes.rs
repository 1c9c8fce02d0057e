//! Tests of quotes and other SQL syntax in all text of a request.

use std::fmt::Write as _;

use pia_server_testkit::client::Client;
use pia_server_testkit::harness::{PASSWORD, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use pia_web::Route;
use serde_json::json;

on_both_databases!(sql_syntax_is_plain_text_in_every_header_and_parameter);

/// Hostile texts, of characters that are permitted in headers.
const HOSTILE: [&str; 8] = [
    "'",
    "\"",
    ";--",
    "' OR '1'='1",
    "'; DROP TABLE accounts; --",
    "\\'; DELETE FROM sessions; --",
    "$$; DROP TABLE sessions; $$ {0} %s ?1 :a",
    "\u{201c}\u{2019}\u{ff07}",
];

/// Control characters, for paths and queries.
const CONTROLS: [&str; 3] = ["\0", "'\0--", "\u{0}\u{1}\r\n'"];

/// All headers that any route reads.
const HEADERS: [&str; 16] = [
    "x-pia-device-id",
    "x-pia-app-version",
    "x-pia-os-version",
    "x-pia-mode",
    "x-pia-persona",
    "x-service-mode",
    "x-service-persona",
    "x-request-id",
    "x-forwarded-for",
    "forwarded",
    "user-agent",
    "accept-language",
    "if-none-match",
    "origin",
    "referer",
    "cookie",
];

/// All parameters that any route reads.
const PARAMETERS: [&str; 21] = [
    "provider",
    "redirect_uri",
    "code_challenge",
    "code_challenge_method",
    "state",
    "code",
    "error",
    "iss",
    "userId",
    "token",
    "email",
    "lang",
    "reason",
    "invitation",
    "limit",
    "cursor",
    "since",
    "until",
    "search",
    "sort",
    "id",
];

fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        write!(encoded, "%{byte:02X}").expect("text");
        encoded
    })
}

/// Returns the route's path and query with this text for each id and parameter.
fn hostile_address(route: &Route, hostile: &str) -> String {
    let value = encoded(hostile);
    let path = route
        .path
        .split('/')
        .map(|it| if it.starts_with('{') { &*value } else { it })
        .collect::<Vec<_>>()
        .join("/");
    let query: Vec<String> = PARAMETERS.iter().map(|it| format!("{it}={value}")).collect();
    format!("{path}?{}", query.join("&"))
}

async fn call(client: &Client, route: &Route, address: &str, headers: &[(&str, &str)]) {
    let json = ("content-type", "application/json");
    let headers: Vec<_> = headers.iter().copied().chain([json]).collect();
    let body = if route.method == "POST" { "{}" } else { "" };

    let answer = client.send(route.method.as_str(), address, &headers, body.as_bytes()).await;

    assert!(answer.status < 500, "{} {address} {headers:?}: {}", route.method, answer.text());
}

async fn sql_syntax_is_plain_text_in_every_header_and_parameter(database: TestDatabase) {
    let app = TestConfig::on(database)
        .with("Knowledge__ConnectionString", "embedded:vectors")
        .with("Operators__Enabled", true)
        .with("Workflow__Address", "embedded")
        .with("Server__PublicUrl", "http://test")
        .start()
        .await;
    let ada = app.sign_up("ada@example.org").await;
    let bob = app.sign_up("bob@example.org").await;
    let routes: Vec<Route> = pia_server::routes();

    for route in &routes {
        for hostile in HOSTILE {
            let bearer = format!("Bearer {hostile}");
            let headers: Vec<_> = HEADERS.iter().map(|it| (*it, hostile)).collect();
            let address = hostile_address(route, hostile);
            call(&ada, route, &address, &headers).await;
            call(&ada, route, &address, &[("authorization", &bearer)]).await;
            call(&ada, route, &address, &[("authorization", hostile)]).await;
        }
        for controls in CONTROLS {
            call(&ada, route, &hostile_address(route, controls), &[]).await;
        }
    }

    assert_eq!(app.count("accounts").await, 2);
    for email in ["ada@example.org", "bob@example.org"] {
        let credentials = json!({ "email": email, "password": PASSWORD });
        let answer = app.anonymous().post("/auth/login/local", &credentials).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    assert_eq!(bob.get("/auth/me").await.body["email"], "bob@example.org");
}
