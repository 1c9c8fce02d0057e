//! Pages of groups.

use pia_server_testkit::console::administrator;
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::form;
use super::visitor::{ADA, Visitor, start_with_admin};

on_both_databases!(
    models_of_a_group_are_chosen_from_the_catalogue,
    a_chosen_language_outlasts_the_redirect_to_the_own_group,
    a_group_lists_its_personas_plugins_and_bases,
    a_user_is_moved_to_a_group_by_their_address,
    the_latest_top_ups_of_a_group_are_listed,
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

async fn a_group_lists_its_personas_plugins_and_bases(database: TestDatabase) {
    let (app, _, console) = administrator(TestConfig::on(database)).await;
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

    let of_sales = console.get(&format!("/admin/groups/{sales}")).await.text();
    let of_default = console.get(GROUP).await.text();

    let persona_link = format!("admin/personas/{persona}\">Editor</a>");
    assert!(of_sales.contains(&persona_link), "{of_sales}");
    assert!(of_sales.contains(">Handbook</a>") && !of_sales.contains(">Travel</a>"), "{of_sales}");
    assert!(of_default.contains(">Travel</a>") && !of_default.contains("Editor"), "{of_default}");
    // A built-in plugin.
    assert!(of_sales.contains(">Memory</a>"), "{of_sales}");
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
