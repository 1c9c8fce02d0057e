//! Pages of groups.

use pia_identity::Role;
use pia_server_testkit::console::administrator;
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::visitor::{ADA, Visitor, sign_up_with_role, start_with_admin};
use super::{form, planted};

on_both_databases!(
    models_of_a_group_are_chosen_from_the_catalogue,
    a_chosen_language_outlasts_the_redirect_to_the_own_group,
    a_group_lists_what_is_available_to_its_members,
    a_manager_searches_sorts_and_pages_all_members,
    managers_read_whether_members_choose_models,
    a_user_is_moved_to_a_group_by_their_address,
    the_latest_top_ups_of_a_group_are_listed,
    a_quota_that_is_used_up_is_named_with_its_group,
);

const GROUP: &str = "/admin/groups/00000000-0000-7000-8000-000000000001";

async fn models_of_a_group_are_chosen_from_the_catalogue(database: TestDatabase) {
    let mut config = TestConfig::on(database).with_upstream("http://127.0.0.1:9");
    for (at, id) in ["small", "large"].iter().enumerate() {
        let name = |key: &str| format!("Ai__Providers__{at}__{key}");
        config = config
            .with(&name("Id"), id)
            .with(&name("ProviderType"), "OpenAICompatible")
            .with(&name("Endpoint"), "http://127.0.0.1:9")
            .with(&name("Model"), "m");
    }
    let app = start_with_admin(config).await;
    app.admin("group set default mode.Research=gone persona.code=LARGE models=gone,large")
        .await
        .expect("rules");
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;

    let before = ada.get(GROUP).await.text();
    let body = form(&[
        ("csrfToken", &token),
        ("mode.Research", "gone"),
        ("mode.Optimize", "small"),
        ("type.code", ""),
        ("newType", "Review"),
        ("newTypeModel", "large"),
        ("models", "large"),
        ("models", "small"),
    ]);
    assert_eq!(ada.post(&format!("{GROUP}/settings"), &[], &body).await.status, 303);
    let after = ada.get(GROUP).await.text();
    let without_model = form(&[("csrfToken", &token), ("newType", "Draft")]);
    let refused = ada.post(&format!("{GROUP}/settings?lang=de"), &[], &without_model).await.text();

    for part in [
        "<option value=\"gone\" selected>gone (not in the catalogue)</option>",
        "<option value=\"large\" selected>large</option>",
        "value=\"gone\" checked>",
        "value=\"large\" checked>",
        "value=\"small\">",
    ] {
        assert!(before.contains(part), "{part}: {before}");
    }
    for part in [
        "<option value=\"gone\" selected>gone (not in the catalogue)</option>",
        "<option value=\"small\" selected>small</option>",
        "Model for Optimise mode",
        "Model for review personas",
        "value=\"large\" checked>",
        "value=\"small\" checked>",
    ] {
        assert!(after.contains(part), "{part}: {after}");
    }
    assert!(!after.contains("Model for code personas"), "{after}");
    assert!(!after.contains("value=\"gone\" checked>"), "{after}");
    assert!(refused.contains("Wählen Sie ein Modell des Katalogs."), "{refused}");
}

async fn managers_read_whether_members_choose_models(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let email = sign_up_with_role(&app, Role::OrgManager).await;
    let manager = Visitor::sign_in(&app, "admin", &email).await;

    let without_models = manager.get(GROUP).await.text();
    app.admin("group set default models=large").await.expect("a model");
    let with_models = manager.get(GROUP).await.text();

    assert!(without_models.contains("Members cannot choose"), "{without_models}");
    assert!(!with_models.contains("Members cannot choose"), "{with_models}");
    assert!(with_models.contains("large"), "{with_models}");
}

async fn a_group_lists_what_is_available_to_its_members(database: TestDatabase) {
    let upstream = planted::upstream("Fine.").await;
    let config = planted::with_everything(database, &upstream);
    let (app, _, console) = administrator(config).await;
    let created = console.write("POST", "/api/admin/groups", json!({ "name": "Sales" })).await.body;
    let sales = created["id"].as_str().expect("an id");
    let draft = json!({ "name": "Editor", "systemPrompt": "Edit." });
    let created = console.write("POST", "/api/admin/managed-personas", draft).await.body;
    let persona = created["id"].as_str().expect("an id");
    let groups = format!("/api/admin/managed-personas/{persona}/groups");
    let assigned = console.write("PUT", &groups, json!({ "groupIds": [sales] })).await;
    assert_eq!(assigned.status, 200, "{}", assigned.text());
    app.admin("kb create Handbook Sales").await.expect("a base");
    app.admin("kb create Travel default").await.expect("a base");
    let connector = json!({ "name": "Robots", "groupIds": [sales] });
    let created = console.write("POST", "/api/admin/connectors", connector).await;
    assert_eq!(created.status, 201, "{}", created.text());
    let operators = console.get("/api/admin/operators").await.body;
    let operator = operators[0]["id"].as_str().expect("an id");
    let groups = format!("/api/admin/operators/{operator}/groups");
    let granted = console.write("PUT", &groups, json!({ "groupIds": [sales] })).await;
    assert_eq!(granted.status, 200, "{}", granted.text());

    let of_sales = console.get(&format!("/admin/groups/{sales}")).await.text();
    let of_default = console.get(GROUP).await.text();

    let persona_link = format!("admin/personas/{persona}\">Editor</a>");
    let (_, after_name) = of_sales.split_once(&persona_link).expect("a link");
    let (kind, _) = after_name.split_once("</tr>").expect("its row");
    assert!(kind.contains(">Persona</td>"), "{kind}");
    assert!(of_sales.contains(">Handbook</a>") && !of_sales.contains(">Travel</a>"), "{of_sales}");
    assert!(of_default.contains(">Travel</a>") && !of_default.contains("Editor"), "{of_default}");
    assert!(of_sales.contains(">Robots</a>") && !of_default.contains(">Robots</a>"), "{of_sales}");
    let operator_link = format!("admin/operators/{operator}\">");
    assert!(of_sales.contains(&operator_link), "{of_sales}");
    assert!(!of_default.contains(&operator_link), "{of_default}");
    // A built-in plugin.
    assert!(of_sales.contains(">Memory</a>"), "{of_sales}");
}

async fn a_manager_searches_sorts_and_pages_all_members(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let email = sign_up_with_role(&app, Role::OrgManager).await;
    let manager = Visitor::sign_in(&app, "admin", &email).await;
    let open = async |query: &str| manager.get(&format!("{GROUP}{query}")).await;

    let descending = open("?sort=-email").await.text();
    let found = open("?search=ada").await.text();
    let searched = open("?search=nobody").await.text();
    let malformed = open("?cursor=x").await;

    let (_, members) = descending.split_once("<section id=\"members\"").expect("a section");
    let positions = [email.as_str(), ADA].map(|it| members.find(it).expect("a member"));
    assert!(positions.is_sorted(), "{members}");
    let (_, members) = found.split_once("<section id=\"members\"").expect("a section");
    assert!(members.contains(ADA) && !members.contains(&email), "{members}");
    assert!(searched.contains("No entries found"), "{searched}");
    assert_eq!(malformed.status, 400, "{}", malformed.text());
}

/// Statements that add 60 members and as many personas and connectors to the default group.
const MANY_ENTRIES: &str = "
    CREATE TEMP TABLE numbers AS
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 60)
        SELECT n, unixepoch() * 1000000 - n * 60000000 AS at FROM numbers;
    INSERT INTO accounts (id, email, email_folded, provider, customer_type, created_at)
        SELECT randomblob(16), 'user' || n || '@example.org', 'user' || n || '@example.org', 'local',
            0, at FROM numbers;
    INSERT INTO managed_personas (id, name, system_prompt, tool_scope, schema_version, is_active,
            created_at, updated_at)
        SELECT randomblob(16), 'Persona ' || n, 'Be exact.', 0, 1, 1, at, at FROM numbers;
    INSERT INTO group_personas (group_id, persona_id)
        SELECT user_groups.id, managed_personas.id FROM user_groups, managed_personas;
    INSERT INTO connectors (id, name, name_folded, created_at)
        SELECT randomblob(16), 'Robot ' || n, 'robot ' || n, at FROM numbers;
    INSERT INTO connector_groups (connector_id, group_id)
        SELECT connectors.id, user_groups.id FROM connectors, user_groups;";

#[tokio::test(flavor = "multi_thread")]
async fn a_large_group_lists_the_first_of_its_entries_and_links_to_the_lists() {
    let app = start_with_admin(TestConfig::on(TestDatabase::sqlite())).await;
    app.execute(MANY_ENTRIES).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    let page = ada.get(GROUP).await.text();

    let ids = ["settings", "top-up", "published", "members", "delete"];
    let positions = ids.map(|id| page.find(&format!("<section id=\"{id}\"")).expect("a section"));
    assert!(positions.is_sorted(), "{page}");
    assert_eq!(page.matches("admin/users/").count(), 10, "{page}");
    assert_eq!(page.matches(">Persona ").count(), 50, "{page}");
    assert_eq!(page.matches(">Robot ").count(), 50, "{page}");
    for link in [
        "admin/personas\">All personas, 60 of this group</a>",
        "admin/connectors\">All connectors, 60 of this group</a>",
        "admin/users?group=00000000-0000-7000-8000-000000000001\">All 61 members</a>",
    ] {
        assert!(page.contains(link), "{link}: {page}");
    }
    assert!(!page.contains("All plugins,"), "{page}");
}

async fn a_user_is_moved_to_a_group_by_their_address(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    app.sign_up("bob@example.org").await;
    app.admin("group create Sales").await.expect("a group");
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let list = ada.get("/admin/groups?sort=-name").await.text();
    let ids = list.split("admin/groups/").filter_map(|it| it.get(..36));
    let sales = ids.filter(|it| !GROUP.ends_with(*it)).find(|it| uuid::Uuid::try_parse(it).is_ok());
    let path = format!("/admin/groups/{}", sales.expect("an id"));
    let token = ada.csrf_token().await;
    let add = async |email: &str| {
        let body = form(&[("csrfToken", &token), ("email", email)]);
        ada.post(&format!("{path}/members"), &[], &body).await
    };

    let before = ada.get(&path).await.text();
    let unknown = add("nobody@example.org").await;
    let moved = add(" BOB@example.org ").await;
    let after = ada.get(&path).await.text();

    assert!(before.contains("No members yet."), "{before}");
    assert_eq!(unknown.status, 400, "{}", unknown.text());
    assert!(unknown.text().contains("No account has this address."), "{}", unknown.text());
    assert!(unknown.text().contains("value=\"nobody@example.org\""), "{}", unknown.text());
    assert_eq!(moved.status, 303, "{}", moved.text());
    assert!(after.contains(">bob@example.org</a>"), "{after}");
    assert_eq!(app.count("audit_entries WHERE action = 'Group.MemberAdded'").await, 1);
}

async fn a_chosen_language_outlasts_the_redirect_to_the_own_group(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    let chosen = ada.get("/admin/my-group?lang=de").await;
    let plain = ada.get("/admin/my-group").await;

    for answer in [&chosen, &plain] {
        assert_eq!(answer.status, 303, "{}", answer.text());
        let location = answer.header("location").expect("a location");
        assert!(GROUP.ends_with(location.trim_start_matches("../")), "{location}");
    }
    let cookie = chosen.header("set-cookie").expect("a cookie");
    assert!(cookie.starts_with("pia_language=de;"), "{cookie}");
    assert_eq!(plain.header("set-cookie"), None);
}

async fn the_latest_top_ups_of_a_group_are_listed(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    app.admin("group create Sales").await.expect("a group");
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;

    let before = ada.get(GROUP).await.text();
    for credits in 1001..=1010 {
        app.admin(&format!("credits top-up default {credits}")).await.expect("a top-up");
    }
    app.admin("credits top-up Sales 777").await.expect("a top-up");
    let body = form(&[("csrfToken", &token), ("credits", "2500")]);
    let added = ada.post(&format!("{GROUP}/top-up"), &[], &body).await;
    let after = ada.get(GROUP).await.text();
    let german = ada.get(&format!("{GROUP}?lang=de")).await.text();

    assert!(before.contains("No credits were added"), "{before}");
    assert_eq!(added.status, 303, "{}", added.text());
    let (_, section) = after.split_once("<section id=\"top-up\"").expect("a section");
    let (section, _) = section.split_once("</section>").expect("an end");
    let rows: Vec<&str> = section.split("<tr role=\"row\">").skip(2).collect();
    assert_eq!(rows.len(), 10, "{section}");
    assert!(rows[0].contains(ADA) && rows[0].contains(">2,500<"), "{}", rows[0]);
    for (row, credits) in rows[1..].iter().zip((1002..=1010).rev()) {
        let text = format!(">1,{:03}<", credits - 1000);
        assert!(row.contains("Command line") && row.contains(&text), "{credits}: {row}");
    }
    assert!(!section.contains("777"), "{section}");
    assert!(german.contains("Befehlszeile") && german.contains(">2.500<"), "{german}");
}

async fn a_quota_that_is_used_up_is_named_with_its_group(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    app.admin("group set default quota.KnowledgeBases=1").await.expect("a quota");
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;
    let (_, group) = GROUP.rsplit_once('/').expect("an id");
    let create = async |path: &str, name: &str| {
        let fields = form(&[("csrfToken", &token), ("name", name), ("groupId", group)]);
        ada.post(path, &[], &fields).await
    };

    let first = create("/admin/knowledge", "Travel").await;
    let second = create("/admin/knowledge", "Law").await;
    let german = create("/admin/knowledge?lang=de", "Law").await.text();

    assert_eq!(first.status, 303, "{}", first.text());
    assert_eq!(second.status, 409, "{}", second.text());
    let page = second.text();
    assert!(
        page.contains("The group Default has reached its quota “Knowledge bases”: 1."),
        "{page}"
    );
    assert!(page.contains("href=\"../admin/groups?search=Default\""), "{page}");
    assert!(german.contains("ihr Kontingent „Wissensdatenbanken“ erreicht: 1."), "{german}");
}
