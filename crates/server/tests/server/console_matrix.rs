//! Tests of every route of the console: without the cookie, the role, the CSRF token or the
//! licensed feature that it needs, and with bad bodies.

use pia_identity::Role;
use pia_policy::{Edition, Terms};
use pia_server_testkit::client::TestResponse;
use pia_server_testkit::console::{Console, administrator};
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig, terms};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use pia_web::{Access, Route};
use serde_json::{Value, json};
use uuid::Uuid;

on_both_databases!(
    no_route_opens_without_the_cookie,
    no_route_opens_to_a_browser_in_its_own_account,
    each_route_opens_to_its_roles_alone,
    each_write_needs_the_csrf_token_from_this_origin,
    each_route_of_a_feature_needs_it,
    bad_bodies_are_refused,
    publishing_to_a_group_writes_nothing_for_each_member,
);

/// Route that ends the session with which the tests call the others.
const LOGOUT: &str = "/admin/logout";
/// Minimum number of routes that a test must check: with none, it would pass.
const MIN_ROUTES: usize = 50;
/// Maximum body limit, in bytes, of routes that read no body.
const BODYLESS_LIMIT: usize = 2_048;
/// Default group, to which all new accounts belong.
const DEFAULT_GROUP: &str = "00000000-0000-7000-8000-000000000001";

/// Returns the routes of the console.
fn console_routes() -> Vec<Route> {
    let routes: Vec<_> =
        pia_server::routes().into_iter().filter(|route| allowed_roles(route).is_some()).collect();
    assert!(routes.len() >= MIN_ROUTES, "{}", routes.len());
    routes
}

/// Returns the roles that may call a route of the console; `None` for other routes.
fn allowed_roles(route: &Route) -> Option<Vec<Role>> {
    match route.access {
        Access::Console(roles) => Some(roles.to_vec()),
        Access::GroupConsole(roles) => Some([&[Role::Admin], roles].concat()),
        _ => None,
    }
}

fn is_write(route: &Route) -> bool {
    route.method != "GET"
}

/// Returns whether a route refuses a request without a valid body.
fn requires_body(route: &Route) -> bool {
    // The body of a termination is optional.
    route.body_limit > BODYLESS_LIMIT && !route.path.ends_with("/terminate")
}

/// Returns the path of a route, with an id that nothing has.
fn path(route: &Route) -> String {
    let id = Uuid::now_v7().to_string();
    route
        .path
        .replace("{id}", &id)
        .replace("{questionId}", &id)
        .replace("{key}", "No:Such")
        .replace("{number}", "1")
}

/// Calls a route with the CSRF token.
async fn call(console: &Console, route: &Route, body: &Value) -> TestResponse {
    let token = [("x-csrf-token", console.csrf_token.as_str())];
    console.send(route.method.as_str(), &path(route), &token, body).await
}

/// Creates an account with this role and signs it in to the console.
async fn sign_in_with_role(app: &TestApp, role: Role) -> Console {
    let email = format!("{}@example.org", role.name());
    app.sign_up(&email).await;
    app.admin(&format!("grant {email} --role {}", role.name())).await.expect("a role");

    let credentials = json!({ "email": email, "password": PASSWORD });
    Console::from_answer(app, &app.anonymous().post("/admin/login", &credentials).await)
}

/// Signs the administrator in to the pages of their account, and returns the cookie.
async fn sign_in_to_account_pages(app: &TestApp) -> String {
    let form = format!("email=ada%40example.org&password={}", PASSWORD.replace(' ', "+"));
    let headers = [("content-type", "application/x-www-form-urlencoded"), ("accept", "text/html")];
    let response =
        app.anonymous().send("POST", "/account/sign-in", &headers, form.as_bytes()).await;
    assert_eq!(response.status, 303, "{}", response.text());

    let cookie = response.header("set-cookie").and_then(|it| it.split(';').next());
    cookie.expect("a cookie").to_owned()
}

async fn no_route_opens_without_the_cookie(database: TestDatabase) {
    let (app, client, _console) = administrator(TestConfig::on(database)).await;

    for route in console_routes() {
        for caller in [&client, &app.anonymous()] {
            let answer = caller.send(route.method.as_str(), &path(&route), &[], b"").await;
            assert_eq!(answer.refusal(), (401, "unauthorized"), "{} {}", route.method, route.path);
        }
    }
}

/// Signing in to the pages of the account opens no session of the console.
async fn no_route_opens_to_a_browser_in_its_own_account(database: TestDatabase) {
    let (app, _, console) = administrator(TestConfig::on(database)).await;
    let cookie = sign_in_to_account_pages(&app).await;
    let browser = Console { cookie, ..console };

    for route in console_routes() {
        let answer = call(&browser, &route, &Value::Null).await;
        assert_eq!(answer.refusal(), (401, "unauthorized"), "{} {}", route.method, route.path);
    }
}

async fn each_route_opens_to_its_roles_alone(database: TestDatabase) {
    let (app, _, _admin) = administrator(TestConfig::on(database)).await;

    for role in [Role::KbManager, Role::OrgManager] {
        let console = sign_in_with_role(&app, role).await;
        let mut refused_routes = 0;

        for route in console_routes() {
            if route.path == LOGOUT {
                continue;
            }

            let is_allowed = allowed_roles(&route).is_some_and(|roles| roles.contains(&role));
            let answer = call(&console, &route, &Value::Null).await;
            let is_refused = answer.status == 403 && answer.error() == "forbidden";
            assert_eq!(is_refused, !is_allowed, "{} {}", route.method, route.path);
            refused_routes += usize::from(is_refused);
        }

        assert!(refused_routes >= MIN_ROUTES, "{}: {refused_routes}", role.name());
    }
}

async fn each_write_needs_the_csrf_token_from_this_origin(database: TestDatabase) {
    let (_app, _, console) = administrator(TestConfig::on(database)).await;
    let token = ("x-csrf-token", console.csrf_token.as_str());
    let rejected_headers: [&[(&str, &str)]; 4] = [
        &[],
        &[("x-csrf-token", "forged")],
        &[token, ("origin", "https://evil.example")],
        &[token, ("sec-fetch-site", "cross-site")],
    ];

    for route in console_routes().iter().filter(|it| is_write(it)) {
        for headers in rejected_headers {
            let method = route.method.as_str();
            let answer = console.send(method, &path(route), headers, &Value::Null).await;
            assert_eq!(answer.refusal(), (403, "csrf_rejected"), "{method} {}", route.path);
        }
    }

    // The refused calls left the session as it was.
    assert_eq!(console.get("/api/admin/session").await.status, 200);
}

async fn each_route_of_a_feature_needs_it(database: TestDatabase) {
    let community = Terms::new("A test", Edition::Community, terms().issued_at);
    let licensed_features = Edition::Community.features();
    let config = TestConfig::on(database).licensed(Some(community));
    let (_app, _, console) = administrator(config).await;

    for route in console_routes() {
        let needs_licence = route.feature.is_some_and(|it| !licensed_features.contains(&it));
        if route.path == LOGOUT || !needs_licence {
            continue;
        }

        let answer = call(&console, &route, &json!({})).await;
        let expected_refusal = (403, "feature_not_licensed");
        assert_eq!(answer.refusal(), expected_refusal, "{} {}", route.method, route.path);
    }
}

async fn bad_bodies_are_refused(database: TestDatabase) {
    let (_app, _, console) = administrator(TestConfig::on(database)).await;
    let headers = [
        ("content-type", "application/json"),
        ("x-csrf-token", console.csrf_token.as_str()),
        ("cookie", console.cookie.as_str()),
    ];
    let deeply_nested = "[".repeat(5_000);
    let objects_as_values = body_of_objects();
    let bad_bodies = [
        "",
        "{",
        "[]",
        "5",
        "\"x\"",
        "null",
        &deeply_nested,
        &objects_as_values,
        "\u{0}",
        // Half of a surrogate pair.
        "{\"name\":\"\\ud800\"}",
    ];

    for route in console_routes().iter().filter(|it| is_write(it) && requires_body(it)) {
        for body in bad_bodies {
            let method = route.method.as_str();
            let answer = console.client.send(method, &path(route), &headers, body.as_bytes()).await;
            let status = answer.status;
            assert!((400..500).contains(&status), "{method} {} {body:.20}: {status}", route.path);
        }
    }
}

/// Returns a body that has an object for the value of every common field.
fn body_of_objects() -> String {
    const FIELDS: [&str; 11] = [
        "name",
        "documentation",
        "email",
        "role",
        "groupId",
        "groupIds",
        "pluginIds",
        "policyId",
        "value",
        "status",
        "note",
    ];
    let fields = FIELDS.map(|name| (name.to_owned(), json!({ "$ne": [1, null] })));
    Value::Object(fields.into_iter().collect()).to_string()
}

async fn publishing_to_a_group_writes_nothing_for_each_member(database: TestDatabase) {
    // Tables that could have a row for each member.
    const TABLES: [&str; 7] = [
        "group_personas",
        "audit_entries",
        "mails",
        "sync_items",
        "sync_events",
        "ledgers",
        "sessions",
    ];

    let (app, _, console) = administrator(TestConfig::on(database)).await;
    let persona_draft = json!({ "name": "Reader", "systemPrompt": "Read." });
    let persona = console.write("POST", "/api/admin/managed-personas", persona_draft).await.body;
    let persona_id = persona["id"].as_str().expect("an id");
    let path = format!("/api/admin/managed-personas/{persona_id}/groups");
    let group_draft = json!({ "name": "Small" });
    let empty_group = console.write("POST", "/api/admin/groups", group_draft).await.body;
    for number in 0..20 {
        app.sign_up(&format!("member{number}@example.org")).await;
    }

    let mut added_rows = Vec::new();
    for group in [&empty_group["id"], &json!(DEFAULT_GROUP)] {
        let previous_rows = count_rows(&app, &TABLES).await;
        let response = console.write("PUT", &path, json!({ "groupIds": [group] })).await;
        assert_eq!(response.status, 200, "{}", response.text());
        added_rows.push(count_rows(&app, &TABLES).await - previous_rows);
    }

    // Each assignment adds an audit entry. The first also adds the row that binds the persona to
    // its group; the second replaces that row.
    assert_eq!(added_rows, [2, 1]);
}

/// Returns the number of rows in all of these tables.
async fn count_rows(app: &TestApp, tables: &[&str]) -> i64 {
    let mut rows = 0;
    for table in tables {
        rows += app.count(table).await;
    }
    rows
}
