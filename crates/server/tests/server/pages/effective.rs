//! Effective settings of a user, on their page and over JSON.

use pia_server_testkit::console::{Console, administrator};
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::planted;

on_both_databases!(the_page_of_a_user_states_what_is_effective);

const GROUP: &str = "00000000-0000-7000-8000-000000000001";

/// Adds a model to the catalogue.
fn with_model(config: TestConfig, id: &str) -> TestConfig {
    config
        .with("Ai__Providers__0__Id", id)
        .with("Ai__Providers__0__ProviderType", "OpenAICompatible")
        .with("Ai__Providers__0__Endpoint", "http://127.0.0.1:9")
        .with("Ai__Providers__0__Model", "gpt-large")
}

/// Gives a group a model, a budget, an operator and a connector.
async fn equip_group(console: &Console) {
    let operators = console.get("/api/admin/operators").await.body;
    let operators = operators.as_array().expect("a list");
    let brief = operators.iter().find(|it| it["name"] == "Brief").expect("an operator");
    let operator = brief["id"].as_str().expect("an id");
    let settings = json!({ "credits": { "daily": 7 }, "modes": { "Research": "large" } });
    let groups = json!({ "groupIds": [GROUP] });
    let connector = json!({ "name": "Robots", "groupIds": [GROUP] });

    for (method, path, body) in [
        ("PATCH", format!("groups/{GROUP}/settings"), settings),
        ("PUT", format!("operators/{operator}/groups"), groups),
        ("POST", "connectors".to_owned(), connector),
    ] {
        let response = console.write(method, &format!("/api/admin/{path}"), body).await;
        assert!([200, 201].contains(&response.status), "{path}: {}", response.text());
    }
}

fn names(entries: &Value) -> Vec<&str> {
    entries.as_array().expect("a list").iter().filter_map(|it| it["name"].as_str()).collect()
}

async fn the_page_of_a_user_states_what_is_effective(database: TestDatabase) {
    let upstream = planted::upstream("Fine.").await;
    let config = with_model(planted::with_everything(database, &upstream), "large");
    let (app, _, console) = administrator(config).await;
    equip_group(&console).await;
    app.admin("group create Sales").await.expect("a group");
    app.admin("kb create Handbook default").await.expect("a base");
    app.admin("kb create Travel Sales").await.expect("a base");
    let users = console.get("/api/admin/users").await.body;
    let user = users["items"][0]["id"].as_str().expect("an id");

    let effective = console.get(&format!("/api/admin/users/{user}/effective")).await.body;
    let page = console.get(&format!("/admin/users/{user}")).await.text();

    assert_eq!(names(&effective["knowledgeBases"]), ["Handbook"]);
    assert_eq!(names(&effective["operators"]), ["Brief"]);
    assert_eq!(names(&effective["connectors"]), ["Robots"]);
    assert_eq!(effective["credits"]["daily"], json!({ "limit": 7, "used": 0 }));
    let of_settings = |mode: &str| {
        json!({ "mode": mode, "key": "Ai", "name": "Ai", "model": "test-model",
            "source": "settings" })
    };
    let of_group = json!({ "mode": "Research", "key": "Ai:Providers:large", "name": "large",
        "model": "gpt-large", "source": "group" });
    let serving = json!([of_settings("Optimize"), of_settings("Assistant"), of_group]);
    assert_eq!(effective["models"]["serving"], serving);

    let (_, section) = page.split_once("<section id=\"effective\"").expect("a section");
    let (section, _) = section.split_once("<section id=\"role\"").expect("a section");
    for part in [
        "Handbook",
        "Brief",
        "Robots",
        "admin/models/Ai:Providers:large\">large</a>",
        "test-model",
        "None: cannot choose",
        "1.0 GiB",
        "Per 24 hours",
    ] {
        assert!(section.contains(part), "{part}: {section}");
    }
    assert!(!section.contains("Travel"), "{section}");
}
