//! Choices of plugins, knowledge bases and versions, on a server with 10,000 of each.

use pia_server_testkit::console::Console;
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::form;
use super::visitor::{ADA, Visitor, start_with_admin};

/// Statements that add 10,000 plugins and knowledge bases, and as many versions to each policy.
const MANY_ENTRIES: &str = r#"
    CREATE TEMP TABLE numbers AS
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10000)
        SELECT n, unixepoch() * 1000000 AS at FROM numbers;
    INSERT INTO plugins (id, kind, name, config_json, version, is_preloaded, is_active, updated_at)
        SELECT randomblob(16), 'mcp_server', 'Plugin ' || n,
            '{"transport":"stdio","command":"search"}', '1', 0, 1, at FROM numbers;
    INSERT INTO knowledge_bases (id, group_id, name, name_folded, created_at, served_at)
        SELECT randomblob(16), user_groups.id, 'Base ' || n, 'base ' || n, at, at
            FROM numbers, user_groups;
    INSERT INTO client_policy_versions (policy_id, number, name, document, written_at)
        SELECT id, n + 1, name, document, at FROM numbers, client_policies;"#;

/// Creates an entry and returns its id.
async fn create(console: &Console, path: &str, body: Value) -> String {
    let created = console.write("POST", &format!("/api/admin/{path}"), body).await;
    assert_eq!(created.status, 201, "{path}: {}", created.text());
    created.body["id"].as_str().expect("an id").to_owned()
}

/// Starts a server with an administrator and many entries. Returns the path of a persona and
/// that of a policy.
async fn start_with_many() -> (TestApp, String, String) {
    let app = start_with_admin(TestConfig::on(TestDatabase::sqlite())).await;
    let console = Console::open(&app, ADA).await;
    let persona = json!({ "name": "Editor", "systemPrompt": "Edit." });
    let policy = json!({ "name": "Office", "document": "{\"enforce\":{\"a\":1}}" });
    let persona = create(&console, "managed-personas", persona).await;
    let policy = create(&console, "client-policies", policy).await;
    app.execute(MANY_ENTRIES).await;
    (app, format!("/admin/personas/{persona}"), format!("/admin/policies/{policy}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_plugins_and_bases_is_selected_by_its_name() {
    let (app, persona, _) = start_with_many().await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;
    let bind = async |form_path: &str, field: &str, name: &str| {
        let body = form(&[("csrfToken", &token), (field, name)]);
        ada.post(&format!("{persona}/{form_path}"), &[], &body).await
    };

    let before = ada.get(&persona).await.text();
    let plugin = bind("plugins", "addedPlugin", "PLUGIN 9999").await;
    let base = bind("knowledge", "addedBase", "Base 9999").await;
    let after = ada.get(&persona).await.text();
    let unknown_plugin = bind("plugins", "addedPlugin", "Plugin X").await;
    let unknown_base = bind("knowledge?lang=de", "addedBase", "Base X").await;

    assert!(!before.contains("Plugin 9999") && !before.contains("Base 9999"), "{before}");
    assert_eq!([plugin.status, base.status], [303; 2], "{}", plugin.text());
    for page in [&before, &after] {
        for name in ["pluginIds", "knowledgeBaseIds"] {
            let count = page.matches(&format!("name=\"{name}\"")).count();
            assert_eq!(count, 200, "{name}: {page}");
        }
    }
    assert_eq!(after.matches(" checked").count(), before.matches(" checked").count() + 2);
    assert!(after.contains("Plugin 9999") && after.contains("Base 9999"), "{after}");
    for (refusal, parts) in [
        (unknown_plugin, ["No plugin has this name.", "value=\"Plugin X\""]),
        (unknown_base, ["Keine Wissensdatenbank hat diesen Namen.", "value=\"Base X\""]),
    ] {
        assert_eq!(refusal.status, 400, "{}", refusal.text());
        assert!(parts.iter().all(|it| refusal.text().contains(it)), "{}", refusal.text());
    }
    assert_eq!(app.count("persona_plugins").await, 1);
    assert_eq!(app.count("persona_knowledge_bases").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn selected_plugins_that_a_form_does_not_offer_stay_selected() {
    let (app, persona, _) = start_with_many().await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    app.execute(
        "INSERT INTO persona_plugins (persona_id, plugin_id)
             SELECT managed_personas.id, plugins.id FROM managed_personas, plugins
                 WHERE plugins.name LIKE 'Plugin %'",
    )
    .await;

    let body = form(&[("csrfToken", &ada.csrf_token().await)]);
    let saved = ada.post(&format!("{persona}/plugins"), &[], &body).await;

    assert_eq!(saved.status, 303, "{}", saved.text());
    assert_eq!(app.count("persona_plugins").await, 9_800);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_versions_is_compared_by_its_number() {
    let (app, _, policy) = start_with_many().await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let open = async |query: &str| ada.get(&format!("{policy}/versions/5{query}")).await;

    let first = open("").await.text();
    let compared = open("?with=9999").await.text();
    let unknown = open("?with=20000").await;
    let german = open("?with=20000&lang=de").await.text();

    assert!(!first.contains("<option"), "{first}");
    assert!(first.contains("name=\"with\""), "{first}");
    assert!(compared.contains("value=\"9999\""), "{compared}");
    assert!(!compared.contains("There is no such version."), "{compared}");
    assert_eq!(unknown.status, 200, "{}", unknown.text());
    for part in ["There is no such version.", "value=\"20000\""] {
        assert!(unknown.text().contains(part), "{part}: {}", unknown.text());
    }
    assert!(german.contains("Diese Version gibt es nicht."), "{german}");
}
