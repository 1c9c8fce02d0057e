//! Tests of single forms, each sent as its page has it.

use pia_server_testkit::client::TestResponse;
use pia_server_testkit::console::Console;
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::html::PageParts;
use super::strangers::resolve;
use super::visitor::{ADA, Visitor, start_with_admin};

on_both_databases!(a_plugin_stays_at_its_version_when_it_is_saved);

/// Sends the form of a page whose target ends with a path, with these values in place of its own.
async fn send_form(
    visitor: &Visitor<'_>,
    page: &str,
    target: &str,
    values: &[(&str, &str)],
) -> TestResponse {
    let text = visitor.get(page).await.text();
    let parts = PageParts::parse(&text);
    let form = parts.forms.iter().find(|it| it.action.ends_with(target)).expect("a form");
    let path = resolve(page, &form.action).expect("a path");
    visitor.post(&path, &[], &form.encode_with(values)).await
}

async fn a_plugin_stays_at_its_version_when_it_is_saved(database: TestDatabase) {
    let configuration = r#"{"transport":"stdio","command":"tickets.exe"}"#;
    let app = start_with_admin(TestConfig::on(database)).await;
    let console = Console::open(&app, ADA).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let plugin = json!({
        "kind": "mcp_server", "name": "Tickets", "version": "2.5", "configJson": configuration,
    });
    let created = console.write("POST", "/api/admin/plugins", plugin).await;
    assert_eq!(created.status, 201, "{}", created.text());
    let id = created.body["id"].as_str().expect("an id");
    let page = format!("/admin/plugins/{id}");

    let renaming = [("name", "Issues"), ("configJson", configuration)];
    let renamed = send_form(&ada, &page, "/save", &renaming).await;
    let after_renaming = console.get(&format!("/api/admin/plugins/{id}")).await;
    let update = [("name", "Issues"), ("version", "2.6"), ("configJson", configuration)];
    let updated = send_form(&ada, &page, "/save", &update).await;
    let after_update = console.get(&format!("/api/admin/plugins/{id}")).await;

    assert_eq!(renamed.status, 303, "{}", renamed.text());
    assert_eq!(after_renaming.body["name"], "Issues", "{}", after_renaming.text());
    assert_eq!(after_renaming.body["version"], "2.5", "{}", after_renaming.text());
    assert_eq!(updated.status, 303, "{}", updated.text());
    assert_eq!(after_update.body["version"], "2.6", "{}", after_update.text());
}
