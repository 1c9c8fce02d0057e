//! Tests of groups in the console.

use futures_util::future::join_all;
use pia_server_testkit::console::{Console, administrator};
use pia_server_testkit::harness::{PASSWORD, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};
use uuid::Uuid;

const GROUPS: &str = "/api/admin/groups";
const DEFAULT_GROUP: &str = "00000000-0000-7000-8000-000000000001";

on_both_databases!(
    members_are_searched_and_listed_by_page,
    users_are_found_by_either_spelling_of_their_domain,
    users_are_listed_in_the_orders_of_the_console,
    effective_settings_of_a_user_name_their_source,
    a_group_is_created_renamed_and_deleted,
    settings_change_one_by_one,
    credits_are_added_and_reported,
    a_moved_user_is_in_the_group_from_the_next_request,
    refusals_name_their_reason,
    one_of_many_concurrent_creations_of_a_name_succeeds,
    a_manager_of_an_organisation_reads_their_own_group_alone,
);

async fn create_group(console: &Console, name: &str) -> String {
    let creation_response = console.write("POST", GROUPS, json!({ "name": name })).await;
    assert_eq!(creation_response.status, 201, "{}", creation_response.text());
    creation_response.body["id"].as_str().expect("an id").to_owned()
}

async fn a_group_is_created_renamed_and_deleted(database: TestDatabase) {
    let (_app, _, console) = administrator(TestConfig::on(database)).await;
    let path = format!("{GROUPS}/{}", create_group(&console, "Sales").await);

    let renaming_response = console.write("PUT", &path, json!({ "name": "Sellers" })).await;
    assert_eq!(renaming_response.status, 200, "{}", renaming_response.text());
    let group = console.get(&path).await.body;
    assert_eq!(group["name"], "Sellers");
    assert_eq!(group["memberCount"], 0);
    let list = console.get(GROUPS).await.body;
    assert_eq!(list[0]["isDefault"], true);
    assert_eq!(list[0]["memberCount"], 1);
    assert_eq!(list[1], group);

    assert_eq!(console.write("DELETE", &path, Value::Null).await.status, 200);
    assert_eq!(console.get(&path).await.refusal(), (404, "not_found"));
}

async fn settings_change_one_by_one(database: TestDatabase) {
    let (_app, _, console) = administrator(TestConfig::on(database)).await;
    let path = format!("{GROUPS}/{}/settings", create_group(&console, "Sales").await);

    let first_body = json!({ "credits": { "weekly": 5000 }, "quotas": { "ManagedPersonas": 3 } });
    assert_eq!(console.write("PATCH", &path, first_body).await.status, 200);
    let second_body = json!({ "quotas": { "ManagedPersonas": null }, "pool": true,
        "modes": { "research": "large" }, "personaTypes": { "Code": "coder" }, "models": ["x"] });
    let change_response = console.write("PATCH", &path, second_body).await;

    assert_eq!(change_response.status, 200, "{}", change_response.text());
    assert_eq!(
        change_response.body,
        json!({ "quotas": {}, "pool": true, "modes": { "Research": "large" },
            "personaTypes": { "code": "coder" }, "models": ["x"],
            "credits": { "hourly": 0, "daily": 0, "weekly": 5000, "group-daily": 0,
                "group-weekly": 0 } })
    );
    assert_eq!(console.get(&path).await.body, change_response.body);

    let nulls = json!({ "quotas": null, "credits": null, "pool": null, "modes": null,
        "personaTypes": null, "models": null });
    assert_eq!(console.write("PATCH", &path, nulls).await.body, change_response.body);
}

async fn credits_are_added_and_reported(database: TestDatabase) {
    let (app, _, console) = administrator(TestConfig::on(database)).await;
    let group = format!("{GROUPS}/{}", create_group(&console, "Sales").await);
    let credits = format!("{group}/credits");
    let top_ups = format!("{group}/top-ups");
    let limits = json!({ "credits": { "weekly": 50, "group-daily": 400 } });

    let unlimited_response = console.get(&credits).await;
    let limited_response = console.write("PATCH", &format!("{group}/settings"), limits).await;
    let mut added = Vec::new();
    for count in [7, 3] {
        added.push(console.write("POST", &top_ups, json!({ "credits": count })).await.status);
    }
    let mut refused = Vec::new();
    for body in [json!({ "credits": 0 }), json!({ "credits": 1_000_000_001 }), json!({})] {
        let answer = console.write("POST", &top_ups, body).await;
        refused.push((answer.status, answer.body["errors"][0]["field"].clone()));
    }
    let reported = console.get(&credits).await;

    assert_eq!(unlimited_response.status, 200);
    assert_eq!(unlimited_response.body, json!({}));
    assert_eq!(limited_response.status, 200);
    assert_eq!(added, [200, 200]);
    assert_eq!(
        refused,
        [(400, json!("credits")), (400, json!("credits")), (400, json!("credits"))]
    );
    assert_eq!(
        reported.body,
        json!({
            "topUp": { "granted": 10, "consumed": 0, "remaining": 10, "isActive": true },
            "groupCap": { "daily": { "limit": 400, "used": 0 } },
        })
    );
    assert_eq!(app.count("audit_entries WHERE action = 'Group.ToppedUp'").await, 2);
}

async fn a_moved_user_is_in_the_group_from_the_next_request(database: TestDatabase) {
    let (app, client, console) = administrator(TestConfig::on(database)).await;
    let sales = create_group(&console, "Sales").await;
    let me = client.get("/auth/me").await.body;
    let user = me["id"].as_str().expect("an id");

    let path = format!("/api/admin/users/{user}/group");
    let move_response = console.write("PUT", &path, json!({ "groupId": sales })).await;
    assert_eq!(move_response.status, 200, "{}", move_response.text());

    assert_eq!(console.get("/api/admin/session").await.body["groupId"], json!(sales));
    for (group, expected) in [(sales.as_str(), json!(user)), (DEFAULT_GROUP, Value::Null)] {
        let users = console.get(&format!("/api/admin/users?group={group}")).await.body;
        assert_eq!(users["items"][0]["id"], expected, "{group}");
    }
    for (group, refusal) in [("x", (400, "validation_failed")), (user, (404, "not_found"))] {
        let refused_response = console.get(&format!("/api/admin/users?group={group}")).await;
        assert_eq!(refused_response.refusal(), refusal, "{group}");
    }
    let in_use = console.write("DELETE", &format!("{GROUPS}/{sales}"), Value::Null).await;
    assert_eq!(in_use.refusal(), (409, "group_in_use"));
    assert_eq!(in_use.body["usedBy"], json!({ "members": 1 }));
    let entries = "audit_entries WHERE action = 'Group.MemberAdded'";
    assert_eq!(app.count(entries).await, 1);
}

async fn a_manager_of_an_organisation_reads_their_own_group_alone(database: TestDatabase) {
    let (app, _, console) = administrator(TestConfig::on(database)).await;
    let sales = create_group(&console, "Sales").await;
    let support = create_group(&console, "Support").await;
    app.sign_up("eve@example.org").await;
    app.admin("group add eve@example.org Sales").await.expect("a member");
    app.admin("grant eve@example.org --role org_manager").await.expect("a role");
    let credentials = json!({ "email": "eve@example.org", "password": PASSWORD });
    let opened = app.anonymous().post("/admin/login", &credentials).await;
    let eve = Console::from_answer(&app, &opened);

    for part in ["", "/members", "/settings", "/client-policy"] {
        let own_response = eve.get(&format!("{GROUPS}/{sales}{part}")).await;
        assert_eq!(own_response.status, 200, "{part}: {}", own_response.text());
        let foreign_response = eve.get(&format!("{GROUPS}/{support}{part}")).await;
        let unknown_response = eve.get(&format!("{GROUPS}/{}{part}", Uuid::now_v7())).await;
        assert_eq!(foreign_response.refusal(), (404, "not_found"), "{part}");
        assert_eq!(foreign_response.text(), unknown_response.text(), "{part}");
    }

    let renaming_response =
        eve.write("PUT", &format!("{GROUPS}/{sales}"), json!({ "name": "Mine" })).await;
    assert_eq!(renaming_response.refusal(), (403, "forbidden"));
    assert_eq!(eve.get(GROUPS).await.refusal(), (403, "forbidden"));
}

async fn refusals_name_their_reason(database: TestDatabase) {
    let (_app, _, console) = administrator(TestConfig::on(database)).await;
    let id = create_group(&console, "Sales").await;
    let settings = format!("{GROUPS}/{id}/settings");

    for (method, path, body, field) in [
        ("POST", GROUPS, json!({}), "name"),
        ("POST", GROUPS, json!({ "name": 5 }), "name"),
        ("PATCH", &settings, json!({ "quotas": { "Cats": 1 } }), "quotas"),
        ("PATCH", &settings, json!({ "credits": { "yearly": 1 } }), "credits"),
        ("PATCH", &settings, json!({ "modes": { "Sleep": "x" } }), "modes"),
        ("PATCH", &settings, json!({ "credits": { "weekly": -1 } }), ""),
        ("PUT", &format!("/api/admin/users/{}/group", Uuid::now_v7()), json!({}), "groupId"),
    ] {
        let response = console.write(method, path, body).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{}", response.text());
        assert_eq!(response.body["errors"][0]["field"], field, "{}", response.text());
    }

    let response = console.write("POST", GROUPS, json!({ "name": "SALES" })).await;
    assert_eq!(response.refusal(), (409, "name_taken"));
    let default = format!("{GROUPS}/{DEFAULT_GROUP}");
    let deletion_response = console.write("DELETE", &default, Value::Null).await;
    assert_eq!(deletion_response.refusal(), (409, "default_group"));
}

async fn one_of_many_concurrent_creations_of_a_name_succeeds(database: TestDatabase) {
    let (_app, _, console) = administrator(TestConfig::on(database)).await;

    let writes = (0..50).map(|_| console.write("POST", GROUPS, json!({ "name": "Sales" })));
    let responses = join_all(writes).await;

    assert_eq!(responses.iter().filter(|it| it.status == 201).count(), 1);
    assert_eq!(responses.iter().filter(|it| it.status == 409).count(), 49);
}

async fn members_are_searched_and_listed_by_page(database: TestDatabase) {
    let (app, _, console) = administrator(TestConfig::on(database)).await;
    for name in ["bob", "b_b", "eve"] {
        app.sign_up(&format!("{name}@example.org")).await;
    }
    let sales = create_group(&console, "Sales").await;
    let emails = |answer: &Value| {
        let items = answer["items"].as_array().expect("items").iter();
        items.map(|it| it["email"].as_str().expect("an address").to_owned()).collect::<Vec<_>>()
    };
    let default = format!("{GROUPS}/{DEFAULT_GROUP}/members");

    let first_page = console.get(&format!("{default}?limit=3")).await.body;
    let cursor = first_page["nextCursor"].as_str().expect("a cursor");
    let last_page = console.get(&format!("{default}?limit=3&cursor={cursor}")).await.body;
    assert_eq!(emails(&first_page), ["eve@example.org", "b_b@example.org", "bob@example.org"]);
    assert_eq!(emails(&last_page), ["ada@example.org"]);
    assert_eq!(last_page.get("nextCursor"), None);

    for (search, expected) in [("BOB", 1), ("b_b", 1), ("%25", 0), ("example", 4), ("%5C", 0)] {
        let page = console.get(&format!("/api/admin/users?search={search}")).await;
        assert_eq!(page.status, 200, "{search}");
        assert_eq!(emails(&page.body).len(), expected, "{search}");
    }
    for (query, expected) in [
        ("role=admin", 1),
        ("role=user", 3),
        ("role=user&search=bob", 1),
        ("isActive=false", 0),
        ("isActive=true&withoutFactor=true", 4),
    ] {
        let page = console.get(&format!("/api/admin/users?{query}")).await.body;
        assert_eq!(emails(&page).len(), expected, "{query}");
    }

    let refused_response = console.get("/api/admin/users?role=boss").await;
    assert_eq!(refused_response.refusal(), (400, "validation_failed"));
    let users = console.get("/api/admin/users?search=eve").await.body;
    let eve = users["items"][0]["id"].as_str().expect("an id");
    console
        .write("PUT", &format!("/api/admin/users/{eve}/group"), json!({ "groupId": sales }))
        .await;
    let moved_body = console.get(&format!("{GROUPS}/{sales}/members")).await.body;
    assert_eq!(emails(&moved_body), ["eve@example.org"]);
    assert_eq!(moved_body["items"][0]["groupId"], json!(sales));

    let unknown_response = console.get(&format!("{GROUPS}/{eve}/members")).await;
    assert_eq!(unknown_response.refusal(), (404, "not_found"));
    assert_eq!(console.get("/api/admin/users?limit=0").await.status, 400);
}

async fn users_are_found_by_either_spelling_of_their_domain(database: TestDatabase) {
    let (app, _, console) = administrator(TestConfig::on(database)).await;
    app.sign_up("grace@bücher.example").await;

    for search in ["b%C3%BCcher", "B%C3%9CCHER.example", "xn--bcher", "grace@b%C3%BC"] {
        let page = console.get(&format!("/api/admin/users?search={search}")).await.body;
        assert_eq!(page["items"][0]["email"], "grace@bücher.example", "{search}");
        assert_eq!(page["items"].as_array().map(Vec::len), Some(1), "{search}");
    }
}

async fn users_are_listed_in_the_orders_of_the_console(database: TestDatabase) {
    let (app, _, console) = administrator(TestConfig::on(database)).await;
    for name in ["eve", "bob"] {
        app.sign_up(&format!("{name}@example.org")).await;
    }

    for (sort, expected) in [
        ("email", ["ada", "bob", "eve"]),
        ("-email", ["eve", "bob", "ada"]),
        ("created", ["ada", "eve", "bob"]),
        ("-created", ["bob", "eve", "ada"]),
        ("role", ["ada", "eve", "bob"]),
        ("-role", ["bob", "eve", "ada"]),
        ("status", ["ada", "eve", "bob"]),
        ("-status", ["bob", "eve", "ada"]),
    ] {
        let page = console.get(&format!("/api/admin/users?sort={sort}")).await.body;
        let items = page["items"].as_array().expect("items").iter();
        let emails: Vec<_> = items.filter_map(|it| it["email"].as_str()).collect();
        assert_eq!(emails, expected.map(|it| format!("{it}@example.org")), "{sort}");
    }
    let by_email = "/api/admin/users?limit=1&sort=email";
    let first_page = console.get(by_email).await.body;
    let cursor = first_page["nextCursor"].as_str().expect("a cursor");
    let second_page = console.get(&format!("{by_email}&cursor={cursor}")).await.body;
    assert_eq!(second_page["items"][0]["email"], "bob@example.org");
    let of_other_column = format!("sort=created&cursor={cursor}");
    for query in ["sort=name", "sort=email&cursor=x", of_other_column.as_str()] {
        let refused_response = console.get(&format!("/api/admin/users?{query}")).await;
        assert_eq!(refused_response.refusal(), (400, "validation_failed"), "{query}");
    }
}

async fn effective_settings_of_a_user_name_their_source(database: TestDatabase) {
    let (_app, client, console) = administrator(TestConfig::on(database)).await;
    let user = console.get("/api/admin/users").await.body["items"][0].clone();
    let path = format!("/api/admin/users/{}/effective", user["id"].as_str().expect("an id"));
    let previous_body = console.get(&path).await.body;
    assert_eq!(previous_body["user"], user);
    assert_eq!(previous_body["group"]["id"], json!(DEFAULT_GROUP));
    assert_eq!(previous_body["clientPolicy"], json!({ "document": "{}" }));

    let sales = create_group(&console, "Sales").await;
    let settings = json!({
        "quotas": { "KnowledgeBases": 2 }, "credits": { "daily": 7 },
        "modes": { "Research": "large" }, "models": ["large"],
    });
    console.write("PATCH", &format!("{GROUPS}/{sales}/settings"), settings).await;
    let policy = json!({ "name": "Office", "document": "{\"enforce\":{\"a\":1}}" });
    let policy =
        console.write("POST", "/api/admin/client-policies", policy).await.body["id"].clone();
    let assigned = format!("{GROUPS}/{sales}/client-policy");
    console.write("PUT", &assigned, json!({ "policyId": policy })).await;
    let draft = json!({ "name": "Editor", "systemPrompt": "Edit." });
    let response = console.write("POST", "/api/admin/managed-personas", draft).await;
    let persona = response.body["id"].as_str().expect("an id").to_owned();
    let groups = format!("/api/admin/managed-personas/{persona}/groups");
    let grant_response = console.write("PUT", &groups, json!({ "groupIds": [sales] })).await;
    assert_eq!(grant_response.status, 200, "{}", grant_response.text());

    let group_path = format!("/api/admin/users/{}/group", user["id"].as_str().expect("an id"));
    console.write("PUT", &group_path, json!({ "groupId": sales })).await;

    let effective = console.get(&path).await.body;

    assert_eq!(effective["group"], json!({ "id": sales, "name": "Sales" }));
    assert_eq!(effective["clientPolicy"], console.get(&assigned).await.body);
    assert_eq!(effective["personas"], json!([{ "id": persona, "name": "Editor" }]));

    let pulled_body = client.get("/api/sync/pull?since=2020-01-01T00:00:00Z").await.body;
    assert_eq!(pulled_body["clientPolicy"]["document"], effective["clientPolicy"]["document"]);
    let number = |of: &Value| of.as_array().expect("a list").len();
    assert_eq!(number(&effective["plugins"]), number(&pulled_body["plugins"]["upserted"]));
    assert_eq!(effective["plugins"][0]["source"], "builtIn");

    let models = json!({
        "modes": { "Research": "large" }, "personaTypes": {}, "allowed": ["large"], "serving": []
    });
    assert_eq!(effective["models"], models);

    let limits = effective["limits"].as_array().expect("limits");
    for expected in [
        json!({ "name": "KnowledgeBases", "value": 2, "source": "group" }),
        json!({ "name": "ManagedPersonas", "value": 50, "source": "default" }),
        json!({ "name": "UserStorageBytes", "value": 1 << 30, "source": "settings" }),
        json!({ "name": "Credits:daily", "value": 7, "source": "group" }),
        json!({ "name": "Credits:weekly", "source": "none" }),
    ] {
        assert!(limits.contains(&expected), "{expected} in {limits:?}");
    }

    let unknown = format!("/api/admin/users/{}/effective", Uuid::now_v7());
    assert_eq!(console.get(&unknown).await.refusal(), (404, "not_found"));
}
