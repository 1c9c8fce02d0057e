//! Tests of the pages, over HTTP and in a browser.

mod accessible;
mod attention;
mod base_path;
mod browsed;
mod effective;
mod emails;
mod empty;
mod features;
mod first_steps;
mod foreign;
mod forms;
mod groups;
mod html;
mod invitations;
mod lists;
mod long_lists;
mod many_entries;
mod many_groups;
mod operation;
mod origins;
mod outages;
mod page_routes;
mod pictures;
mod planted;
mod profile;
mod proofs;
mod refusals;
mod scriptless;
mod secured;
mod settings;
mod signed_in;
mod strangers;
mod visitor;

use pia_server_testkit::client::TestResponse;
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use self::html::PageParts;

on_both_databases! { an_account_from_the_page_can_sign_in }

const REGISTER: &str = "/auth/register.html";
const HTML: (&str, &str) = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

fn form(fields: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

async fn submit(app: &TestApp, path: &str, fields: &[(&str, &str)]) -> TestResponse {
    let body = form(fields);
    app.anonymous().send("POST", path, &[FORM, HTML], body.as_bytes()).await
}

async fn open(app: &TestApp, path: &str) -> TestResponse {
    app.anonymous().send("GET", path, &[HTML], b"").await
}

fn is_page(answer: &TestResponse) -> bool {
    answer.header("content-type") == Some("text/html; charset=utf-8")
        && answer.header("cache-control") == Some("no-store")
        && answer.text().starts_with("<!doctype html>")
}

async fn an_account_from_the_page_can_sign_in(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = [("email", "ada@example.org"), ("password", PASSWORD), ("displayName", "Ada")];

    let created = submit(&app, REGISTER, &ada).await;
    let second_response = submit(&app, REGISTER, &ada).await;
    let weak = submit(&app, REGISTER, &[("email", "b@example.org"), ("password", "ada")]).await;

    assert_eq!(created.status, 303);
    assert_eq!(second_response.status, 409);
    assert_eq!(weak.status, 400);
    let location = format!("/auth/{}", created.header("location").expect("a place"));
    let created = open(&app, &location).await;
    for page in [&created, &second_response, &weak] {
        assert!(is_page(page), "{}", page.text());
        assert!(!page.text().contains(PASSWORD), "{}", page.text());
    }
    assert!(created.text().contains("Your account is ready"), "{}", created.text());
    assert!(
        second_response.text().contains("There is an account with this address"),
        "{}",
        second_response.text()
    );
    let envelope = serde_json::json!({ "email": "ada@example.org", "password": PASSWORD });
    let signed_in = app.anonymous().post("/auth/login/local", &envelope).await;
    assert_eq!(signed_in.body["user"]["displayName"], "Ada", "{}", signed_in.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_follows_the_current_rules_of_registration() {
    let app = TestConfig::on(TestDatabase::sqlite()).start().await;
    let before = open(&app, REGISTER).await.text();

    let rules = serde_json::json!({ "LocalAuth": {
        "RequireBusinessDeclaration": true,
        "MinimumPasswordLength": 12,
    } });
    app.reload(&rules);
    let after = open(&app, REGISTER).await.text();
    let refusal =
        submit(&app, REGISTER, &[("email", "a@example.org"), ("password", PASSWORD)]).await;

    assert!(before.contains("At least 8 characters") && !before.contains("customerType"));
    assert!(after.contains("At least 12 characters") && after.contains("customerType"));
    assert_eq!(refusal.status, 400);
    assert!(refusal.text().contains("Select whether you use Pia"), "{}", refusal.text());
    app.reload(&serde_json::json!({ "LocalAuth": { "Registration": "closed" } }));
    assert!(open(&app, REGISTER).await.text().contains("Registration is closed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_and_their_style_are_served_below_a_base_path() {
    let app = TestConfig::on(TestDatabase::sqlite()).with("Server__BasePath", "/pia").start().await;

    for path in ["/pia/auth/register.html", "/auth/register.html?lang=de"] {
        assert!(is_page(&open(&app, path).await), "{path}");
    }
    let style = open(&app, "/pia/auth/style.css").await;
    assert_eq!(style.header("content-type"), Some("text/css; charset=utf-8"));
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_of_the_gates_are_pages_for_browsers_and_json_for_programs() {
    let app = TestConfig::on(TestDatabase::sqlite()).with("RateLimits__Auth", 1).start().await;
    let first = submit(&app, REGISTER, &[]).await;

    let long = format!("email={}", "x".repeat(17 * 1024));
    let page = submit(&app, REGISTER, &[]).await;
    let program = app.anonymous().send("POST", REGISTER, &[FORM], b"").await;
    let wrong_method = app.anonymous().send("DELETE", REGISTER, &[HTML], b"").await;
    let elsewhere = app.anonymous().send("GET", "/auth/sessions", &[HTML], b"").await;

    assert_eq!(first.status, 400);
    assert_eq!(page.status, 429);
    assert!(is_page(&page) && page.text().contains("Too many attempts"), "{}", page.text());
    let wait = page.header("retry-after").expect("a time");
    assert!(page.text().contains(&format!("Try again in {wait} seconds.")), "{}", page.text());
    assert_eq!(program.refusal(), (429, "rate_limited"));
    assert!(wrong_method.status == 405 && is_page(&wrong_method));
    assert_eq!(wrong_method.header("allow"), Some("GET, HEAD, POST"));
    assert_eq!(elsewhere.refusal(), (401, "unauthorized"));
    let roomy = TestConfig::on(TestDatabase::sqlite()).start().await;
    let refusal = roomy.anonymous().send("POST", REGISTER, &[FORM, HTML], long.as_bytes()).await;
    assert!(refusal.status == 413 && is_page(&refusal), "{}", refusal.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_front_page_names_the_server_to_browsers() {
    let app = TestConfig::on(TestDatabase::sqlite())
        .with("Server__BasePath", "/pia")
        .with("Server__Name", "Pia of <Ada>")
        .start()
        .await;

    for path in ["/", "/pia/"] {
        let page = open(&app, path).await;
        let program = app.anonymous().get(path).await;

        assert!(page.status == 200 && is_page(&page), "{}", page.text());
        assert!(page.text().contains("<h1>Pia of &#60;Ada&#62;</h1>"), "{}", page.text());
        assert_eq!(program.refusal(), (404, "not_found"), "{path}");
    }
    let icon = open(&app, "/favicon.ico").await;
    assert_eq!(icon.header("content-type"), Some("image/svg+xml"));
}

#[tokio::test(flavor = "multi_thread")]
async fn password_managers_find_the_well_known_resources() {
    let app = TestConfig::on(TestDatabase::sqlite()).start().await;

    let change = open(&app, "/.well-known/change-password").await;
    let passkeys = app.anonymous().get("/.well-known/passkey-endpoints").await;
    let nothing = open(&app, "/.well-known/resource-that-should-not-exist").await;

    assert_eq!(change.status, 302);
    assert_eq!(nothing.status, 404);
    assert_eq!(change.header("location"), Some("../auth/forgot-password.html"));
    assert_eq!(passkeys.status, 200);
    assert_eq!(passkeys.body, serde_json::json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_paths_are_a_page_for_browsers() {
    let app = TestConfig::on(TestDatabase::sqlite()).with("Server__BasePath", "/pia").start().await;

    for (path, style) in [
        ("/nope", "auth/style.css"),
        ("/pia/auth/nope", "../auth/style.css"),
        ("/auth/nope.html?lang=en", "../auth/style.css"),
        ("/auth/Register.html", "../auth/style.css"),
        ("/pia/auth/register.html/", "../../auth/style.css"),
        ("/admin/a/b", "../../auth/style.css"),
    ] {
        let page = open(&app, path).await;
        let program = app.anonymous().get(path).await;
        let unwilling =
            app.anonymous().send("GET", path, &[("accept", "text/html;q=0")], b"").await;

        assert!(page.status == 404 && is_page(&page), "{path}: {}", page.text());
        assert!(page.text().contains("Page not found"), "{path}: {}", page.text());
        assert!(page.text().contains(&format!("href=\"{style}\"")), "{path}: {}", page.text());
        assert_eq!(program.refusal(), (404, "not_found"), "{path}");
        assert_eq!(unwilling.refusal(), (404, "not_found"), "{path}");
    }
    let german = open(&app, "/auth/nope?lang=de").await.text();
    assert!(german.contains("Seite nicht gefunden"), "{german}");
    assert!(german.contains("wurde gelöscht"), "{german}");
    let headers = [HTML, ("cookie", "pia_language=de"), ("accept-language", "en")];
    for path in ["/auth/nope", "/admin/nope", "/"] {
        let chosen_before = app.anonymous().send("GET", path, &headers, b"").await.text();
        assert!(chosen_before.contains("<html lang=\"de\">"), "{path}: {chosen_before}");
    }
    let openai = app.anonymous().send("GET", "/v1/nope", &[HTML], b"").await;
    assert_eq!(openai.status, 404);
    assert_eq!(openai.body["error"]["code"], "not_found");
    for (method, path) in [("GET", "/api/nope"), ("DELETE", "/auth/nope")] {
        let answer = app.anonymous().send(method, path, &[HTML], b"").await;
        assert_eq!(answer.refusal(), (404, "not_found"), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_page_with_a_slash_leads_to_the_one_without() {
    let app = TestConfig::on(TestDatabase::sqlite()).with("Server__BasePath", "/pia").start().await;

    for (path, expected) in [("/pia/admin/", "../admin"), ("/account/", "../account")] {
        let answer = open(&app, path).await;

        assert_eq!(answer.status, 303, "{path}: {}", answer.text());
        assert_eq!(answer.header("location"), Some(expected), "{path}");
    }
    assert_eq!(open(&app, "/admin/users/").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn error_pages_lead_back_to_the_pages_that_they_belong_to() {
    let app = TestApp::spawn().await;

    for (path, expected) in [
        ("/admin/a/b", Some("../../admin")),
        ("/account/nope?lang=de", Some("../account?lang=de")),
        ("/admin/setup/nope", None),
        ("/administration", None),
    ] {
        let page = open(&app, path).await;
        let links = PageParts::parse(&page.text()).links;
        let link = links.iter().find(|it| !it.starts_with('?')).map(String::as_str);

        assert_eq!(page.status, 404, "{path}");
        assert_eq!(link, expected, "{path}: {}", page.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_licence_pages_are_refused_with_their_style() {
    let app = TestConfig::on(TestDatabase::sqlite()).licensed(None).start().await;

    let page = open(&app, REGISTER).await;

    assert!(page.status == 403 && is_page(&page), "{}", page.text());
    assert!(page.text().contains("This server has no valid licence"), "{}", page.text());
    assert!(page.text().contains("href=\"../admin/setup\""), "{}", page.text());
    assert_eq!(open(&app, "/auth/style.css").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_forms_are_answered_by_pages() {
    let app = TestConfig::on(TestDatabase::sqlite()).start().await;

    for page in ["register", "forgot-password", "reset-password", "verify-email"] {
        let path = format!("/auth/{page}.html");
        for body in [&b"email=a&email=b&token=a&token=b"[..], b"%00%ff=%00&=&&&", b"\xff\xfe\x00"] {
            let answer = app.anonymous().send("POST", &path, &[FORM, HTML], body).await;

            assert!(answer.status == 400 && is_page(&answer), "{path}: {}", answer.text());
        }
        let foreign = ("sec-fetch-site", "cross-site");
        let answer = app.anonymous().send("POST", &path, &[FORM, HTML, foreign], b"").await;
        assert!(answer.status == 403 && is_page(&answer), "{path}: {}", answer.text());
    }
}
