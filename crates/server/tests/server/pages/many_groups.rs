//! Forms for choosing a group, on a server with 10,000 groups.

use pia_server_testkit::console::Console;
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::html::PageParts;
use super::visitor::{ADA, Visitor, start_with_admin};
use super::{form, planted};

const DEFAULT_GROUP: &str = "00000000-0000-7000-8000-000000000001";

/// Statement that adds 10,000 groups.
const MANY_GROUPS: &str = "
    INSERT INTO user_groups (id, name, name_folded, is_default, created_at)
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10000)
        SELECT randomblob(16), 'Team ' || n, 'team ' || n, 0, unixepoch() * 1000000 FROM numbers;";

/// Returns the number of options of selections, suggestions and check boxes of a page.
fn count_options(html: &str) -> usize {
    html.matches("<option").count() + html.matches("type=\"checkbox\"").count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_is_moved_to_one_of_many_groups_by_its_name() {
    let app = start_with_admin(TestConfig::on(TestDatabase::sqlite())).await;
    let bob = app.sign_up("bob@example.org").await.user_id();
    app.execute(MANY_GROUPS).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;
    let path = format!("/admin/users/{bob}");
    let move_to = async |query: &str, group: &str| {
        let body = form(&[("csrfToken", &token), ("group", group)]);
        ada.post(&format!("{path}/group{query}"), &[], &body).await
    };

    let before = ada.get(&path).await.text();
    let unknown = move_to("", "Team X").await;
    let german = move_to("?lang=de", "Team X").await.text();
    let empty = move_to("", "").await;
    let moved = move_to("", " TEAM 9999 ").await;
    let listed = ada.get("/admin/users?group=team+9999").await.text();
    let unlisted = ada.get("/admin/users?group=Team+X").await;

    assert!(before.contains("list=\"group-group-list\""), "{before}");
    assert!(before.contains("Type to search "), "{before}");
    assert!(before.contains("value=\"Default\""), "{before}");
    assert!((200..300).contains(&count_options(&before)), "{before}");
    assert_eq!((unknown.status, empty.status), (400, 400), "{}", unknown.text());
    assert!(unknown.text().contains("No group has this name."), "{}", unknown.text());
    assert!(unknown.text().contains("value=\"Team X\""), "{}", unknown.text());
    assert!(german.contains("Keine Gruppe hat diesen Namen."), "{german}");
    assert_eq!(moved.status, 303, "{}", moved.text());
    let of_group = "group_id IN (SELECT id FROM user_groups WHERE name = 'Team 9999')";
    assert_eq!(app.count(&format!("accounts WHERE {of_group}")).await, 1);
    assert!(listed.contains("bob@example.org"), "{listed}");
    assert_eq!(unlisted.status, 200);
    let unlisted = unlisted.text();
    assert!(unlisted.contains("No group has this name."), "{unlisted}");
    assert!(!unlisted.contains("bob@example.org"), "{unlisted}");
}

#[tokio::test(flavor = "multi_thread")]
async fn someone_is_invited_to_one_of_many_groups_by_its_name() {
    let app = start_with_admin(TestConfig::on(TestDatabase::sqlite())).await;
    app.execute(MANY_GROUPS).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;
    let invite = async |group: &str| {
        let body = form(&[("csrfToken", &token), ("role", "user"), ("group", group)]);
        ada.post("/admin/invitations", &[], &body).await
    };

    let before = ada.get("/admin/invitations").await.text();
    let unknown = invite("Team X").await;
    let invited = invite("team 9999").await;
    let without_group = invite("").await;

    assert!((200..300).contains(&count_options(&before)), "{before}");
    assert_eq!(unknown.status, 400, "{}", unknown.text());
    assert!(unknown.text().contains("No group has this name."), "{}", unknown.text());
    assert_eq!((invited.status, without_group.status), (200, 200), "{}", invited.text());
    assert!(invited.text().contains(">Team 9999</td>"), "{}", invited.text());
    assert_eq!(app.count("invitations").await, 2);
    assert_eq!(app.count("invitations WHERE group_id IS NULL").await, 1);
}

/// Page with the groups that something is granted to.
struct Grants {
    page: String,
    /// Path of the form that changes the groups.
    form: String,
    /// Table of the grants.
    table: &'static str,
}

impl Grants {
    fn new(page: String, form: &str, table: &'static str) -> Self {
        let form = format!("{page}/{form}");
        Self { page, form, table }
    }

    /// Sends the form with a field.
    async fn change(&self, ada: &Visitor<'_>, field: &str, value: &str) -> u16 {
        let body = form(&[("csrfToken", &ada.csrf_token().await), (field, value)]);
        ada.post(&self.form, &[], &body).await.status
    }
}

/// Creates one of each that is granted to groups.
async fn create_grants(console: &Console) -> Vec<Grants> {
    let create = async |path: &str, body: Value| {
        let created = console.write("POST", &format!("/api/admin/{path}"), body).await;
        assert_eq!(created.status, 201, "{path}: {}", created.text());
        let id = ["id", "connectorId"].iter().find_map(|it| created.body[*it].as_str());
        id.expect("an id").to_owned()
    };
    let configuration = json!({ "transport": "stdio", "command": "search" }).to_string();
    let persona = json!({ "name": "Editor", "systemPrompt": "Edit." });
    let plugin = json!({ "kind": "mcp_server", "name": "Search", "configJson": configuration });
    let connector = json!({ "name": "Robots", "groupIds": [] });
    let base = json!({ "name": "Travel", "groupId": DEFAULT_GROUP });

    let persona = create("managed-personas", persona).await;
    let plugin = create("plugins", plugin).await;
    let connector = create("connectors", connector).await;
    let base = create("knowledge-bases", base).await;
    let operators = console.get("/api/admin/operators").await.body;
    let operator = operators[0]["id"].as_str().expect("an id");

    vec![
        Grants::new(format!("/admin/personas/{persona}"), "groups", "group_personas"),
        Grants::new(format!("/admin/plugins/{plugin}"), "groups", "group_plugins"),
        Grants::new(format!("/admin/connectors/{connector}"), "groups", "connector_groups"),
        Grants::new(format!("/admin/operators/{operator}"), "groups", "operator_groups"),
        Grants::new(format!("/admin/knowledge/{base}/settings"), "share", "knowledge_base_groups"),
    ]
}

/// Adds two groups to a page, and removes the first of them.
async fn check_grants(app: &TestApp, ada: &Visitor<'_>, grants: &Grants) {
    let path = &grants.form;
    let count_before = app.count(grants.table).await;
    let unknown = grants.change(ada, "addedGroup", "Team X").await;
    let added = grants.change(ada, "addedGroup", "team 1").await;
    let added_next = grants.change(ada, "addedGroup", " TEAM 2 ").await;
    let added_again = grants.change(ada, "addedGroup", "Team 2").await;
    let empty = grants.change(ada, "addedGroup", "").await;
    let malformed = grants.change(ada, "removedGroup", "Team 1").await;
    let count = app.count(grants.table).await;
    let page = ada.get(&grants.page).await.text();
    let (_, after) = page.split_once("name=\"removedGroup\" value=\"").expect("a group");
    let first_group = after.split('"').next().expect("a value");
    let removed = grants.change(ada, "removedGroup", first_group).await;
    let page_after = ada.get(&grants.page).await.text();

    assert_eq!([unknown, empty, malformed], [400; 3], "{path}");
    assert_eq!([added, added_next, added_again, removed], [303; 4], "{path}");
    assert_eq!(count, count_before + 2, "{path}");
    assert_eq!(app.count(grants.table).await, count_before + 1, "{path}");
    assert!((200..300).contains(&count_options(&page)), "{path}: {page}");
    assert!(page.contains(">Team 1</a>") && page.contains(">Team 2</a>"), "{path}: {page}");
    assert!(!page_after.contains(">Team 1</a>"), "{path}: {page_after}");
    assert!(page_after.contains(">Team 2</a>"), "{path}: {page_after}");
}

#[tokio::test(flavor = "multi_thread")]
async fn contents_are_granted_to_some_of_many_groups_by_their_names() {
    let upstream = planted::upstream("Fine.").await;
    let app = start_with_admin(planted::with_everything(TestDatabase::sqlite(), &upstream)).await;
    let console = Console::open(&app, ADA).await;
    let all_grants = create_grants(&console).await;
    app.execute(MANY_GROUPS).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    for grants in &all_grants {
        check_grants(&app, &ada, grants).await;
    }

    let token = ada.csrf_token().await;
    let new = form(&[("csrfToken", &token), ("name", "Hands"), ("addedGroup", "team 3")]);
    let created = ada.post("/admin/connectors", &[], &new).await;
    let of_group = "group_id IN (SELECT id FROM user_groups WHERE name = 'Team 3')";
    assert_eq!(created.status, 200, "{}", created.text());
    assert_eq!(app.count(&format!("connector_groups WHERE {of_group}")).await, 1);
}

/// Opens the check boxes of a page, and returns what a browser sends after another one is checked.
async fn open_and_check(ada: &Visitor<'_>, grants: &Grants, group: &str) -> String {
    let page = ada.get(&grants.page).await.text();
    let parts = PageParts::parse(&page);
    let form = parts.form_with("original.groupIds").expect("check boxes");
    format!("{}&groupIds={group}", form.encode_with(&[]))
}

#[tokio::test(flavor = "multi_thread")]
async fn check_boxes_change_only_the_groups_that_were_changed_there() {
    let upstream = planted::upstream("Fine.").await;
    let app = start_with_admin(planted::with_everything(TestDatabase::sqlite(), &upstream)).await;
    let console = Console::open(&app, ADA).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;
    let create = async |name: &str| {
        let group = console.write("POST", "/api/admin/groups", json!({ "name": name })).await;
        group.body["id"].as_str().expect("an id").to_owned()
    };
    let sales = create("Sales").await;
    let support = create("Support").await;

    for grants in &create_grants(&console).await {
        let path = &grants.form;
        let count_before = app.count(grants.table).await;
        let tabs = [
            open_and_check(&ada, grants, &sales).await,
            open_and_check(&ada, grants, &support).await,
        ];

        for tab in &tabs {
            assert_eq!(ada.post(path, &[], tab).await.status, 303, "{path}");
        }
        assert_eq!(app.count(grants.table).await, count_before + 2, "{path}");

        let unchecked = form(&[("csrfToken", &token), ("original.groupIds", &sales)]);
        assert_eq!(ada.post(path, &[], &unchecked).await.status, 303, "{path}");
        let page = ada.get(&grants.page).await.text();
        let parts = PageParts::parse(&page);
        let boxes = parts.form_with("original.groupIds").expect("check boxes");
        let original = boxes.fields.iter().find(|it| it.name == "original.groupIds");
        let original = original.map(|it| it.value.as_str()).unwrap_or_default();
        assert!(original.contains(&support) && !original.contains(&sales), "{path}: {original}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_and_a_base_belong_to_one_of_many_groups_by_its_name() {
    let upstream = planted::upstream("Fine.").await;
    let app = start_with_admin(planted::with_everything(TestDatabase::sqlite(), &upstream)).await;
    let console = Console::open(&app, ADA).await;
    let document = json!({ "enforce": { "theme": "dark" } }).to_string();
    let draft = json!({ "name": "Strict", "document": document });
    let policy = console.write("POST", "/api/admin/client-policies", draft).await.body;
    let page = format!("/admin/policies/{}", policy["id"].as_str().expect("an id"));
    app.execute(MANY_GROUPS).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;
    let send = async |path: &str, field: &str, group: &str| {
        let body = form(&[("csrfToken", &token), ("name", "Travel"), (field, group)]);
        ada.post(path, &[], &body).await
    };

    let publish = format!("{page}/publish");
    let unpublished = send(&publish, "group", "Team X").await;
    let published = send(&publish, "group", "team 7").await;
    let policy_page = ada.get(&page).await.text();
    let without_owner = send("/admin/knowledge", "groupId", "Team X").await;
    let created = send("/admin/knowledge", "groupId", "TEAM 7").await;

    for refused in [&unpublished, &without_owner] {
        assert_eq!(refused.status, 400, "{}", refused.text());
        assert!(refused.text().contains("No group has this name."), "{}", refused.text());
        assert!(refused.text().contains("value=\"Team X\""), "{}", refused.text());
    }
    assert_eq!((published.status, created.status), (303, 303), "{}", created.text());
    assert!(policy_page.contains(">Team 7</a>"), "{policy_page}");
    let of_group = "group_id IN (SELECT id FROM user_groups WHERE name = 'Team 7')";
    assert_eq!(app.count(&format!("knowledge_bases WHERE {of_group}")).await, 1);
}
