//! Every route of the console: cookie, role, CSRF token, feature, bad bodies.

use std::collections::BTreeMap;

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

/// Returns the routes of the console, with the roles that may call them.
fn routes() -> Vec<(Route, Vec<Role>)> {
    let roles = |route: &Route| match route.access {
        Access::Console(roles) => Some(roles.to_vec()),
        Access::GroupConsole(roles) => Some([&[Role::Admin], roles].concat()),
        _ => None,
    };
    let routes: Vec<_> = pia_server::routes()
        .into_iter()
        .filter_map(|it| roles(&it).map(|roles| (it, roles)))
        .collect();
    assert!(routes.len() > 50, "{}", routes.len());
    routes
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

fn is_write(route: &Route) -> bool {
    route.method != "GET"
}

/// Calls a route with the CSRF token.
async fn call(console: &Console, route: &Route, body: &Value) -> TestResponse {
    let token = [("x-csrf-token", console.csrf_token.as_str())];
    console.send(route.method.as_str(), &path(route), &token, body).await
}

/// Signs an account with this role in to the console.
async fn with_role(app: &TestApp, role: Role) -> Console {
    let email = format!("{}@example.org", role.name());
    app.sign_up(&email).await;
    app.admin(&format!("grant {email} --role {}", role.name())).await.expect("a role");
    let credentials = json!({ "email": email, "password": PASSWORD });
    Console::from_answer(app, &app.anonymous().post("/admin/login", &credentials).await)
}

async fn no_route_opens_without_the_cookie(database: TestDatabase) {
    let (app, client, _console) = administrator(TestConfig::on(database)).await;

    for (route, _) in routes() {
        for caller in [&client, &app.anonymous()] {
            let answer = caller.send(route.method.as_str(), &path(&route), &[], b"").await;
            assert_eq!(answer.refusal(), (401, "unauthorized"), "{} {}", route.method, route.path);
        }
    }
}

/// Signing in to the pages of the account opens no session of the console.
async fn no_route_opens_to_a_browser_in_its_own_account(database: TestDatabase) {
    let (app, _, console) = administrator(TestConfig::on(database)).await;
    let form = format!("email=ada%40example.org&password={}", PASSWORD.replace(' ', "+"));
    let headers = [("content-type", "application/x-www-form-urlencoded"), ("accept", "text/html")];
    let signed_in =
        app.anonymous().send("POST", "/account/sign-in", &headers, form.as_bytes()).await;
    assert_eq!(signed_in.status, 303, "{}", signed_in.text());
    let cookie = signed_in.header("set-cookie").expect("a cookie");
    let cookie = cookie.split(';').next().expect("a value").to_owned();
    let browser = Console { cookie, ..console };

    for (route, _) in routes() {
        let answer = call(&browser, &route, &Value::Null).await;
        assert_eq!(answer.refusal(), (401, "unauthorized"), "{} {}", route.method, route.path);
    }
}

async fn each_route_opens_to_its_roles_alone(database: TestDatabase) {
    let (app, _, _admin) = administrator(TestConfig::on(database)).await;
    let roles = [Role::KbManager, Role::OrgManager];
    let mut refused: BTreeMap<&str, usize> = BTreeMap::new();

    for role in roles {
        let console = with_role(&app, role).await;
        // Signing out would end the session of the others.
        for (route, allowed) in routes().iter().filter(|it| it.0.path != "/admin/logout") {
            let answer = call(&console, route, &Value::Null).await;
            let is_refused = answer.status == 403 && answer.error() == "forbidden";
            assert_eq!(is_refused, !allowed.contains(&role), "{} {}", route.method, route.path);
            *refused.entry(role.name()).or_default() += usize::from(is_refused);
        }
    }
    assert!(refused.values().all(|it| *it > 50), "{refused:?}");
}

async fn each_write_needs_the_csrf_token_from_this_origin(database: TestDatabase) {
    let (_app, _, console) = administrator(TestConfig::on(database)).await;
    let token = ("x-csrf-token", console.csrf_token.as_str());

    for (route, _) in routes().iter().filter(|it| is_write(&it.0)) {
        for headers in [
            &[][..],
            &[("x-csrf-token", "forged")],
            &[token, ("origin", "https://evil.example")],
            &[token, ("sec-fetch-site", "cross-site")],
        ] {
            let method = route.method.as_str();
            let answer = console.send(method, &path(route), headers, &Value::Null).await;
            assert_eq!(answer.refusal(), (403, "csrf_rejected"), "{method} {}", route.path);
        }
    }
    assert_eq!(console.get("/api/admin/session").await.status, 200);
}

async fn each_route_of_a_feature_needs_it(database: TestDatabase) {
    let community = Terms::new("A test", Edition::Community, terms().issued_at);
    let included = Edition::Community.features();
    let (_app, _, console) =
        administrator(TestConfig::on(database).licensed(Some(community))).await;

    for (route, _) in routes() {
        let refused = (403, "feature_not_licensed");
        let is_missing = route.feature.is_some_and(|it| !included.contains(&it));
        if route.path != "/admin/logout" && is_missing {
            let answer = call(&console, &route, &json!({})).await;
            assert_eq!(answer.refusal(), refused, "{} {}", route.method, route.path);
        }
    }
}

async fn bad_bodies_are_refused(database: TestDatabase) {
    let (_app, _, console) = administrator(TestConfig::on(database)).await;
    let nested = "[".repeat(5_000);
    let names =
        "name documentation email role groupId groupIds pluginIds policyId value status note";
    let fields: serde_json::Map<String, Value> =
        names.split(' ').map(|it| (it.to_owned(), json!({ "$ne": [1, null] }))).collect();
    let hostile = Value::from(fields).to_string();

    // The body of a termination is optional.
    let has_body = |it: &Route| it.body_limit > 2_048 && !it.path.ends_with("/terminate");
    for (route, _) in routes().iter().filter(|it| is_write(&it.0) && has_body(&it.0)) {
        let json = ("content-type", "application/json");
        let headers =
            [json, ("x-csrf-token", console.csrf_token.as_str()), ("cookie", &console.cookie)];
        for body in [
            "",
            "{",
            "[]",
            "5",
            "\"x\"",
            "null",
            &nested,
            &hostile,
            "\u{0}",
            "{\"name\":\"\\ud800\"}",
        ] {
            let method = route.method.as_str();
            let answer = console.client.send(method, &path(route), &headers, body.as_bytes()).await;
            let status = answer.status;
            assert!((400..500).contains(&status), "{method} {} {body:.20}: {status}", route.path);
        }
    }
}

async fn publishing_to_a_group_writes_nothing_for_each_member(database: TestDatabase) {
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
    let persona = json!({ "name": "Reader", "systemPrompt": "Read." });
    let persona = console.write("POST", "/api/admin/managed-personas", persona).await.body;
    let path =
        format!("/api/admin/managed-personas/{}/groups", persona["id"].as_str().expect("an id"));
    let group = console.write("POST", "/api/admin/groups", json!({ "name": "Small" })).await.body;
    for number in 0..20 {
        app.sign_up(&format!("member{number}@example.org")).await;
    }
    let mut written = Vec::new();

    // One group has no members, the other all of them.
    for group in [&group["id"], &json!("00000000-0000-7000-8000-000000000001")] {
        let previous_rows = rows(&app, &TABLES).await;
        let publication_response =
            console.write("PUT", &path, json!({ "groupIds": [group] })).await;
        assert_eq!(publication_response.status, 200, "{}", publication_response.text());
        written.push(rows(&app, &TABLES).await - previous_rows);
    }

    assert_eq!(written, [2, 1], "an entry, and the row of the binding once");
}

async fn rows(app: &TestApp, tables: &[&str]) -> i64 {
    let mut rows = 0;
    for table in tables {
        rows += app.count(table).await;
    }
    rows
}
