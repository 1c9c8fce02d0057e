//! The audit log, as administrators search and export it.

use pia_server_testkit::console::administrator;
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

const AUDIT: &str = "/api/admin/audit";
const GROUPS: &str = "/api/admin/groups";

on_both_databases!(
    entries_are_searched_by_page,
    every_entry_is_exported_as_a_line,
    an_entry_shows_what_was_changed,
    pages_name_actions_objects_and_credits,
    the_log_is_verified_from_the_command_line,
);

async fn entries_are_searched_by_page(database: TestDatabase) {
    let (app, client, console) = administrator(TestConfig::on(database)).await;
    for name in ["Sales", "Support", "Desk"] {
        console.write("POST", GROUPS, json!({ "name": name })).await;
    }
    let session = console.get("/api/admin/session").await.body;
    let user = session["userId"].as_str().expect("an id");

    let path = format!("{AUDIT}?action=Group.Created&user={user}&limit=2");
    let first_response = console.get(&path).await;
    assert_eq!(first_response.status, 200, "{}", first_response.text());

    let cursor = first_response.body["nextCursor"].as_str().expect("a cursor");
    let last_body = console.get(&format!("{path}&cursor={cursor}")).await.body;
    let entries = first_response.body["items"].as_array().expect("items");
    assert_eq!(entries.len(), 2);
    assert_eq!(last_body["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(last_body.get("nextCursor"), None);

    let entry = &entries[0];
    assert_eq!(entry["action"], "Group.Created");
    assert_eq!(entry["actor"]["userId"], json!(user));
    assert!(entry["object"].as_str().is_some_and(|it| it.starts_with("group:")), "{entry}");
    assert_eq!(entry.get("subject"), None);

    let at = entries[1]["at"].as_str().expect("a time");
    let later_body = console.get(&format!("{AUDIT}?action=Group.Created&since={at}")).await.body;
    let earlier_body = console.get(&format!("{AUDIT}?action=Group.Created&until={at}")).await.body;
    let count = |it: &Value| it["items"].as_array().map(Vec::len);
    assert_eq!(count(&later_body), Some(2));
    assert_eq!(count(&earlier_body), Some(1));

    let oldest = console.get(&format!("{AUDIT}?action=Group.Created&sort=created&limit=1")).await;
    assert_eq!(oldest.body["items"], last_body["items"]);

    for wrong in ["user=x", "action=%00", "since=yesterday", "limit=0", "cursor=x", "sort=user"] {
        assert_eq!(console.get(&format!("{AUDIT}?{wrong}")).await.status, 400, "{wrong}");
    }
    assert_eq!(console.get(&format!("{AUDIT}/export?action=%00")).await.status, 400);
    assert_eq!(console.get("/admin/audit?action=%00").await.status, 200);
    assert_eq!(client.get(AUDIT).await.status, 401);
    assert_eq!(app.anonymous().get(&format!("{AUDIT}/export")).await.status, 401);
}

async fn every_entry_is_exported_as_a_line(database: TestDatabase) {
    let (app, _, console) = administrator(TestConfig::on(database)).await;
    let path = format!("{GROUPS}/00000000-0000-7000-8000-000000000001/settings");
    for quota in 1..=600 {
        let change = json!({ "quotas": { "ManagedPersonas": quota } });
        assert_eq!(console.write("PATCH", &path, change).await.status, 200);
    }

    let export = console.get(&format!("{AUDIT}/export")).await;

    assert_eq!(export.header("content-type"), Some("application/jsonl"));
    let lines: Vec<Value> =
        export.text().lines().map(|it| serde_json::from_str(it).expect("JSON")).collect();
    assert_eq!(lines.len(), usize::try_from(app.count("audit_entries").await).expect("a count"));
    let times: Vec<_> = lines.iter().map(|it| it["at"].as_str().expect("a time")).collect();
    assert!(times.is_sorted_by(|later, earlier| later >= earlier));
    let filtered_response =
        console.get(&format!("{AUDIT}/export?action=Group.SettingsChanged")).await;
    assert_eq!(filtered_response.text().lines().count(), 600);
}

async fn an_entry_shows_what_was_changed(database: TestDatabase) {
    let (app, _, console) = administrator(TestConfig::on(database)).await;
    let write = async |method: &str, path: &str, body: Value| {
        let answer = console.write(method, path, body).await;
        assert!(matches!(answer.status, 200 | 201 | 204), "{method} {path}: {}", answer.text());
        answer.body["id"].as_str().unwrap_or_default().to_owned()
    };
    let sales = write("POST", GROUPS, json!({ "name": "Sales" })).await;
    let group = format!("{GROUPS}/{sales}");
    let settings = json!({ "quotas": { "KnowledgeBases": 2 } });
    write("PATCH", &format!("{group}/settings"), settings).await;
    let long = format!("{{\"enforce\":{{\"a\":\"{}\"}}}}", "x".repeat(600));
    let policy = json!({ "name": "Office", "document": long });
    let policy = write("POST", "/api/admin/client-policies", policy).await;
    write("PUT", &format!("{group}/client-policy"), json!({ "policyId": policy })).await;
    let persona = json!({ "name": "Editor", "systemPrompt": "Edit." });
    let persona = write("POST", "/api/admin/managed-personas", persona).await;
    let persona = format!("/api/admin/managed-personas/{persona}");
    let other_body = json!({ "name": "Editor", "systemPrompt": "Edit well.", "isActive": false });
    write("PUT", &persona, other_body).await;
    write("PUT", &format!("{persona}/groups"), json!({ "groupIds": [sales] })).await;
    let secret = r#"{"env":{"TOKEN":"s3cret"}}"#;
    let plugin = json!({ "kind": "mcp_server", "name": "Files", "configJson": secret });
    let plugin = write("POST", "/api/admin/plugins", plugin).await;
    write("DELETE", &format!("/api/admin/plugins/{plugin}"), Value::Null).await;
    let session = console.get("/api/admin/session").await.body;
    let user = session["userId"].as_str().expect("an id");
    write("PUT", &format!("/api/admin/users/{user}/group"), json!({ "groupId": sales })).await;
    app.admin("grant ada@example.org --role org_manager").await.expect_err("the last one");

    let export = console.get(&format!("{AUDIT}/export")).await.text();
    assert!(!export.contains("s3cret"), "{export}");
    let changes = |action: &str| {
        let entry = export
            .lines()
            .map(|it| serde_json::from_str::<Value>(it).expect("JSON"))
            .find(|it| it["action"] == action);
        entry.unwrap_or_else(|| panic!("no {action}"))["changes"].clone()
    };
    assert_eq!(changes("Group.Created"), json!({ "name": { "after": "Sales" } }));

    let quotas = json!({ "before": {}, "after": { "KnowledgeBases": 2 } });
    assert_eq!(changes("Group.SettingsChanged"), json!({ "quotas": quotas }));
    let created = changes("ClientPolicy.Created");
    assert_eq!(created["document"]["after"]["bytes"], long.len());

    let assigned = json!({ "clientPolicyId": { "after": policy } });
    assert_eq!(changes("Group.ClientPolicyUpdated"), assigned);
    let updated = json!({
        "systemPrompt": { "before": "Edit.", "after": "Edit well." },
        "isActive": { "before": true, "after": false },
    });
    assert_eq!(changes("ManagedPersona.Updated"), updated);

    let groups = json!({ "groups": { "before": [], "after": [sales] } });
    assert_eq!(changes("ManagedPersona.GroupsUpdated"), groups);
    assert_eq!(changes("Plugin.Deleted")["name"], json!({ "before": "Files" }));

    let group_change = json!({ "before": "00000000-0000-7000-8000-000000000001", "after": sales });
    assert_eq!(changes("Group.MemberAdded"), json!({ "groupId": group_change }));
}

async fn pages_name_actions_objects_and_credits(database: TestDatabase) {
    const PAGE: &str = "/admin/audit?action=Group.ToppedUp";

    let (app, _, console) = administrator(TestConfig::on(database)).await;
    let created = console.write("POST", GROUPS, json!({ "name": "Sales" })).await;
    let sales = created.body["id"].as_str().expect("an id");
    app.admin("credits top-up Sales 500").await.expect("a top-up");
    let link = format!("admin/groups/{sales}\"");
    let id_end = sales.rsplit('-').next().expect("digits");

    let list = console.get(PAGE).await.text();
    let entries = console.get(&format!("{AUDIT}?action=Group.ToppedUp")).await.body;
    let entry = entries["items"][0]["id"].as_str().expect("an id");
    let entry_page = console.get(&format!("/admin/audit/{entry}")).await.text();
    let deleted = console.write("DELETE", &format!("{GROUPS}/{sales}"), Value::Null).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    let list_after = console.get(PAGE).await.text();
    let german_list = console.get(&format!("{PAGE}&lang=de")).await.text();

    assert!(list.contains(">Group topped up</a>"), "{list}");
    assert!(list.contains("\"Group.ToppedUp\" selected>Group topped up</option>"), "{list}");
    for page in [&list, &entry_page] {
        assert!(page.contains(&format!("{link}>Sales</a>")), "{page}");
        assert!(page.contains("500 credits") && page.contains("Group.ToppedUp"), "{page}");
    }
    assert!(entry_page.contains(&format!("group:{sales}")), "{entry_page}");
    // A group that was deleted has no page and no name.
    assert!(list_after.contains(&format!("…{id_end}")), "{list_after}");
    assert!(!list_after.contains(&link), "{list_after}");
    assert!(german_list.contains(">Gruppe aufgeladen</a>"), "{german_list}");
    assert!(german_list.contains("500 Credits"), "{german_list}");
}

async fn the_log_is_verified_from_the_command_line(database: TestDatabase) {
    let (app, _, console) = administrator(TestConfig::on(database)).await;
    console.write("POST", GROUPS, json!({ "name": "Sales" })).await;
    let checkpoint = app.admin("audit checkpoint").await.expect("a checkpoint");
    let parsed: Value = serde_json::from_str(&checkpoint).expect("JSON");
    let count = app.count("audit_entries").await;
    assert_eq!(parsed["position"], count);
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), checkpoint).expect("a written file");
    let verify = format!("audit verify {}", file.path().display());

    let intact = app.admin(&verify).await.expect("an intact log");
    let verified = format!("{count} entries up to {count} verified, no changes found\n");
    assert_eq!(intact, verified);

    app.execute("DELETE FROM audit_entries WHERE action = 'Group.Created'").await;
    let error_of_cut_log = app.admin(&verify).await.expect_err("a fault").to_string();
    let missing = format!("the audit log failed verification\nentry {count} is missing\n");
    assert!(error_of_cut_log.starts_with(&missing), "{error_of_cut_log}");
    assert!(error_of_cut_log.contains("problem"), "{error_of_cut_log}");

    std::fs::write(file.path(), "{}").expect("a written file");
    let unreadable = app.admin(&verify).await.expect_err("no checkpoint").to_string();
    assert!(unreadable.contains("is not a checkpoint: missing field"), "{unreadable}");
}
