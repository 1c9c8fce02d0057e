//! Tests of the administrators' list of devices.

use pia_server_testkit::client::TestResponse;
use pia_server_testkit::console::administrator;
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::machine::{Machine, encrypt};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::Value;

on_both_databases!(devices_of_all_users_are_listed_without_keys, devices_are_paged_in_each_order,);

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

    let all_devices = console.get(DEVICES).await;
    assert_eq!(items(&all_devices).len(), 3, "{}", all_devices.text());
    assert!(!all_devices.text().contains(&first_machine.public_key()), "{}", all_devices.text());

    let devices_of_ada = console.get(&format!("{DEVICES}?user={}", ada.user_id())).await;
    assert_eq!(items(&devices_of_ada).len(), 1);
    assert_eq!(items(&devices_of_ada)[0]["email"], "ada@example.org");
    assert_eq!(items(&devices_of_ada)[0]["status"], "active");

    let waiting_devices = console.get(&format!("{DEVICES}?status=waiting&search=BOB@")).await;
    let first_page = console.get(&format!("{DEVICES}?limit=1")).await;
    assert_eq!(items(&waiting_devices), items(&first_page), "the waiting device is the newest");
    assert_eq!(items(&waiting_devices)[0]["email"], "bob@example.org");

    let cursor = first_page.body["nextCursor"].as_str().expect("a cursor");
    let second_page = console.get(&format!("{DEVICES}?cursor={cursor}")).await;
    assert_eq!(items(&second_page), &items(&all_devices)[1..]);

    let of_other_column = format!("sort=name&cursor={cursor}");
    for query in ["status=lost", "sort=email", "cursor=x", of_other_column.as_str()] {
        let response = console.get(&format!("{DEVICES}?{query}")).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{query}");
    }
}

async fn devices_are_paged_in_each_order(database: TestDatabase) {
    let (app, ada, console) = administrator(TestConfig::on(database)).await;
    let bob = app.sign_up("bob@example.org").await;
    encrypt(&ada).await;
    encrypt(&bob).await;
    Machine::new().register(&bob).await;

    for column in ["created", "name", "used"] {
        let list = format!("{DEVICES}?sort={column}");
        let ascending = console.get(&list).await;
        let descending = console.get(&format!("{DEVICES}?sort=-{column}")).await;
        let first_page = console.get(&format!("{list}&limit=1")).await;
        let cursor = first_page.body["nextCursor"].as_str().expect("a cursor");
        let next_page = console.get(&format!("{list}&cursor={cursor}")).await;

        let reversed: Vec<_> = items(&descending).iter().rev().cloned().collect();
        assert_eq!(items(&ascending).len(), 3, "{column}");
        assert_eq!(items(&ascending), reversed, "{column}");
        assert_eq!([items(&first_page), items(&next_page)].concat(), reversed, "{column}");
        let heading = format!("aria-sort=\"descending\"><a href=\"?sort={column}\">");
        let page = console.get(&format!("/admin/devices?sort=-{column}")).await;
        assert!(page.text().contains(&heading), "{}", page.text());
    }
}
