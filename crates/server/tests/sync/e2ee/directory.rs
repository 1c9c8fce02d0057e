//! Tests of the administrators' list of devices.

use pia_server_testkit::client::TestResponse;
use pia_server_testkit::console::administrator;
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::machine::{Machine, encrypt};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::Value;

on_both_databases!(devices_of_all_users_are_listed_without_keys);

const DEVICES: &str = "/api/admin/devices";

/// Returns the items of a page of the list.
fn items(page: &TestResponse) -> &[Value] {
    page.body["items"].as_array().map(Vec::as_slice).expect("items")
}

async fn devices_of_all_users_are_listed_without_keys(database: TestDatabase) {
    let (app, ada, console) = administrator(TestConfig::on(database)).await;
    let bob = app.sign_up("bob@example.org").await;
    encrypt(&ada).await;
    let first_machine = encrypt(&bob).await;
    Machine::new().register(&bob).await;

    let all_response = console.get(DEVICES).await;
    let of_ada = console.get(&format!("{DEVICES}?user={}", ada.user_id())).await;
    let waiting = console.get(&format!("{DEVICES}?status=waiting&search=BOB@")).await;
    let newest = console.get(&format!("{DEVICES}?limit=1")).await;
    let cursor = newest.body["nextCursor"].as_str().expect("a cursor");
    let older = console.get(&format!("{DEVICES}?cursor={cursor}")).await;
    let unknown_response = console.get(&format!("{DEVICES}?status=lost")).await;

    assert_eq!(items(&all_response).len(), 3, "{}", all_response.text());
    assert!(!all_response.text().contains(&first_machine.public_key()), "{}", all_response.text());
    assert_eq!(items(&of_ada).len(), 1);
    assert_eq!(items(&of_ada)[0]["email"], "ada@example.org");
    assert_eq!(items(&of_ada)[0]["status"], "active");
    assert_eq!(items(&waiting), items(&newest), "the one that asks to join is the newest");
    assert_eq!(items(&waiting)[0]["email"], "bob@example.org");
    assert_eq!(items(&older), &items(&all_response)[1..]);
    assert_eq!(unknown_response.status, 400);
}
