//! Tests that pages and forms treat rows of others like rows that do not exist.

use pia_identity::Role;
use pia_server_testkit::authenticator::{Authenticator, ORIGIN};
use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::console::Console;
use pia_server_testkit::credentials::{api_key_id, app_password_id, current_session, enrol};
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_server_testkit::machine::Machine;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use pia_web::{Access, Route};
use serde_json::json;
use uuid::Uuid;

use super::page_routes::{pages, with_unknown_ids};
use super::planted;
use super::proofs::send;
use super::visitor::{ADA, Visitor, sign_up_with_role, start_with_admin};

on_both_databases!(
    a_foreign_credential_is_answered_like_an_unknown_one,
    a_base_of_another_group_is_answered_like_an_unknown_one,
    another_group_is_answered_like_an_unknown_one,
);

const BOB: &str = "bob@example.org";
const DEFAULT_GROUP: &str = "00000000-0000-7000-8000-000000000001";
/// Fields that the forms require, so that none is refused for what it lacks.
const FIELDS: [(&str, &str); 6] = [
    ("name", "Mine"),
    ("title", "Mine"),
    ("content", "Mine"),
    ("file", "Mine"),
    ("prompt", "Mine"),
    ("question", "Mine"),
];

/// Opens a page, or sends a form, at this path.
async fn call(visitor: &Visitor<'_>, route: &Route, path: &str) -> TestResponse {
    if route.method == "GET" { visitor.get(path).await } else { send(visitor, path, &FIELDS).await }
}

/// Returns what an answer discloses, without the ids of its path.
fn comparable(answer: &TestResponse, path: &str) -> (u16, String, String) {
    let location = answer.header("location").unwrap_or_default();
    let without_ids = |text: &str| {
        let ids = path.split('/').filter(|it| Uuid::try_parse(it).is_ok());
        ids.fold(text.to_owned(), |rest, id| rest.replace(id, "ID"))
    };
    (answer.status, without_ids(location), without_ids(&answer.text()))
}

/// Checks that a foreign row is answered like an unknown one, with this status.
async fn check(visitor: &Visitor<'_>, route: &Route, paths: [&str; 2], status: u16) {
    let [foreign_path, unknown_path] = paths;
    let foreign = call(visitor, route, foreign_path).await;
    let unknown = call(visitor, route, unknown_path).await;

    let message = format!("{} {foreign_path}: {}", route.method, foreign.text());
    assert_eq!(comparable(&foreign, foreign_path), comparable(&unknown, unknown_path), "{message}");
    assert_eq!(foreign.status, status, "{message}");
}

/// Credentials of an account, by the folders of their pages.
struct Owned {
    ids: [(&'static str, String); 5],
}

impl Owned {
    /// Creates one of each kind. A new passkey ends other sessions, so it is the first.
    async fn create(app: &TestApp, owner: &Client) -> Self {
        let passkey = enrol(owner, &mut Authenticator::new(), "Key").await;
        Machine::new().register(owner).await;
        let devices = Visitor::sign_in(app, "account", BOB).await.get("/account/devices").await;
        let page = devices.text();
        let device = page
            .split("account/devices/")
            .filter_map(|it| it.get(..36))
            .find(|it| Uuid::try_parse(it).is_ok())
            .expect("a device");

        let ids = [
            ("/account/passkeys/", passkey),
            ("/account/devices/", device.to_owned()),
            ("/account/app-passwords/", app_password_id(owner).await),
            ("/account/api-keys/", api_key_id(owner).await),
            ("/account/sessions/", current_session(owner).await),
        ];
        Self { ids }
    }

    /// Returns the path of a row with the id that it names. Each new folder requires one.
    fn path(&self, route: &Route) -> String {
        let id = self.ids.iter().find(|it| route.path.starts_with(it.0));
        route.path.replace("{id}", &id.unwrap_or_else(|| panic!("{}", route.path)).1)
    }
}

async fn a_foreign_credential_is_answered_like_an_unknown_one(database: TestDatabase) {
    const REMOVALS: &str = "audit_entries WHERE action IN ('device.revoked', 'passkey.removed', \
                            'passkey.unblocked', 'app_password.removed', 'session.revoked')";
    let app = TestConfig::on(database).with("Server__PublicUrl", ORIGIN).start().await;
    app.sign_up(ADA).await;
    let bob = app.sign_up(BOB).await;
    let owned = Owned::create(&app, &bob).await;
    let browser_of_bob = Visitor::sign_in(&app, "account", BOB).await;
    let ada = Visitor::sign_in(&app, "account", ADA).await;
    let removed_before = app.count(REMOVALS).await;

    let routes: Vec<Route> =
        pages().filter(|it| it.access == Access::AccountPage && it.path.contains("{id}")).collect();
    for route in &routes {
        let path = owned.path(route);
        if route.method == "GET" {
            assert_eq!(browser_of_bob.get(&path).await.status, 200, "{path}");
        }
        // Ending a session that has ended, or is unknown, is no error.
        let status = if route.path.starts_with("/account/sessions/") { 303 } else { 404 };
        check(&ada, route, [&path, &with_unknown_ids(route.path)], status).await;
    }

    assert!(routes.len() > 8, "{}", routes.len());
    assert_eq!(app.count(REMOVALS).await, removed_before);
    for table in ["app_passwords", "api_keys", "passkeys WHERE name = 'Key'"] {
        assert_eq!(app.count(table).await, 1, "{table}");
    }
    assert_eq!(bob.get("/auth/me").await.status, 200);
}

/// Returns the path of a row of a base, with these ids.
fn path_in_base(route: &Route, base: &str, document: &str, question: &str) -> String {
    let path = route.path.replace("{id}", base);
    path.replace("{document}", document).replace("{question}", question)
}

async fn a_base_of_another_group_is_answered_like_an_unknown_one(database: TestDatabase) {
    let upstream = planted::upstream("Fine.").await;
    let app = start_with_admin(planted::with_everything(database, &upstream)).await;
    planted::plant(&app, "Travel").await;
    let console = Console::open(&app, ADA).await;
    let bases = console.get("/api/admin/knowledge-bases").await.body;
    let base = bases[0]["id"].as_str().expect("an id");
    let list_path = format!("/api/admin/knowledge-bases/{base}/documents");
    let documents = console.get(&list_path).await.body;
    let document = documents[0]["id"].as_str().expect("an id");
    let email = sign_up_with_role(&app, Role::KbManager).await;
    app.admin(&format!("group add {email} Travel")).await.expect("a member");
    let groups = console.get("/api/admin/groups").await.body;
    let group = groups.as_array().expect("a list").iter().find(|it| it["name"] == "Travel");
    let draft = json!({ "name": "Own", "groupId": group.expect("a group")["id"] });
    let own = console.write("POST", "/api/admin/knowledge-bases", draft).await.body;
    let own = own["id"].as_str().expect("an id");
    let kate = Visitor::sign_in(&app, "admin", &email).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    let routes: Vec<Route> = pages()
        .filter(|it| it.path.starts_with("/admin/knowledge/{id}"))
        .filter(|it| matches!(it.access, Access::ConsolePage(roles) if roles.len() > 1))
        .collect();
    for route in &routes {
        let path = path_in_base(route, base, document, DEFAULT_GROUP);
        if route.method == "GET" {
            assert_eq!(ada.get(&path).await.status, 200, "{path}");
        }
        check(&kate, route, [&path, &with_unknown_ids(route.path)], 404).await;
        if route.path.matches('{').count() > 1 {
            let in_own = path_in_base(route, own, document, DEFAULT_GROUP);
            let unknown = with_unknown_ids(&path_in_base(route, own, "{document}", "{question}"));
            check(&kate, route, [&in_own, &unknown], 404).await;
        }
    }

    assert!(routes.len() > 8, "{}", routes.len());
    let list = kate.get("/admin/knowledge").await.text();
    assert!(list.contains(own) && !list.contains(base), "{list}");
    let documents_after = console.get(&list_path).await.body;
    assert_eq!(documents_after.as_array().map(Vec::len), documents.as_array().map(Vec::len));
}

async fn another_group_is_answered_like_an_unknown_one(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let console = Console::open(&app, ADA).await;
    let sales = console.write("POST", "/api/admin/groups", json!({ "name": "Sales" })).await.body;
    let sales = sales["id"].as_str().expect("an id");
    let email = sign_up_with_role(&app, Role::OrgManager).await;
    app.admin(&format!("group add {email} Sales")).await.expect("a member");
    let eve = Visitor::sign_in(&app, "admin", &email).await;

    let routes: Vec<Route> =
        pages().filter(|it| matches!(it.access, Access::GroupPage(_))).collect();
    for route in &routes {
        let own = eve.get(&route.path.replace("{id}", sales)).await;
        assert_eq!(own.status, 200, "{}: {}", route.path, own.text());
        assert!(!own.text().contains(ADA), "{}: {}", route.path, own.text());
        let foreign_path = route.path.replace("{id}", DEFAULT_GROUP);
        check(&eve, route, [&foreign_path, &with_unknown_ids(route.path)], 404).await;
    }

    assert!(!routes.is_empty());
    let redirect = eve.get("/admin/my-group").await;
    let location = redirect.header("location").unwrap_or_default();
    assert!(location.ends_with(sales), "{location}");
}
