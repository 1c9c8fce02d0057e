//! Tests of groups of identity providers, and of bad input.

use pia_server_testkit::on_both_databases;

use super::*;

on_both_databases!(
    a_member_is_in_the_group_with_their_next_request,
    a_group_in_use_and_the_default_one_are_not_deleted,
    bad_input_changes_nothing,
);

async fn a_member_is_in_the_group_with_their_next_request(database: TestDatabase) {
    let server = Provisioned::on(database).await;
    let eve = server.app.sign_up("eve@example.org").await;
    assert_eq!(eve.get("/auth/me").await.status, 200);
    let group = server.create_group("Sales").await;

    let add = json!([{ "op": "add", "path": "members", "value": [{ "value": eve.user }] }]);
    server.patch(&group, add).await;

    let path = format!("/api/admin/users/{}/effective", eve.user.clone().expect("an id"));
    assert_eq!(server.console.get(&path).await.body["group"]["name"], "Sales");
    let user = format!("{USERS}/{}", eve.user.as_deref().expect("an id"));
    let presented_body = server.send("GET", &user, Value::Null).await.body;
    assert_eq!(presented_body["groups"][0]["value"], group["id"]);

    let rename = patch(&json!([{ "op": "replace", "path": "displayName", "value": "Sellers" }]));
    let path = format!("{}?excludedAttributes=members", path_of(&group));
    let renamed_body = server.send("PATCH", &path, rename).await.body;
    assert_eq!(renamed_body["displayName"], "Sellers");
    assert_eq!(renamed_body.get("members"), None);
}

async fn a_group_in_use_and_the_default_one_are_not_deleted(database: TestDatabase) {
    let server = Provisioned::on(database).await;
    let group = server.create_group("Sales").await;
    let persona = json!({ "name": "Reader", "systemPrompt": "Read." });
    let persona = server.console.write("POST", "/api/admin/managed-personas", persona).await.body;
    let path =
        format!("/api/admin/managed-personas/{}/groups", persona["id"].as_str().expect("an id"));
    server.console.write("PUT", &path, json!({ "groupIds": [group["id"]] })).await;

    assert_eq!(server.send("DELETE", &path_of(&group), Value::Null).await.status, 409);
    let default = filtered(GROUPS, r#"displayName eq "DEFAULT""#);
    let default = server.send("GET", &default, Value::Null).await.body["Resources"][0].clone();
    let response = server.send("DELETE", &path_of(&default), Value::Null).await;
    assert_eq!(response.refusal(), (400, "mutability"));
    let taken_body = json!({ "displayName": "SALES" });
    assert_eq!(server.send("POST", GROUPS, taken_body).await.refusal(), (409, "uniqueness"));
}

async fn bad_input_changes_nothing(database: TestDatabase) {
    let server = Provisioned::on(database).await;
    let user = server.create_user("ada@idp.example").await;
    let group = server.create_group("Sales").await;
    let path = path_of(&group);
    let stranger = "0199f0e0-0000-7000-8000-000000000001";
    let both = json!([{ "value": user["id"] }, { "value": stranger }]);

    for (method, path, body) in [
        ("POST", GROUPS, json!({})),
        ("POST", GROUPS, json!({ "displayName": " " })),
        ("POST", GROUPS, json!({ "displayName": "New", "members": [{ "value": stranger }] })),
        ("POST", GROUPS, json!({ "displayName": "New", "members": [5] })),
        ("POST", GROUPS, json!({ "displayName": "New", "externalId": "x".repeat(500) })),
        (
            "PATCH",
            path.as_str(),
            patch(&json!([{ "op": "add", "path": "members", "value": both }])),
        ),
        ("PATCH", path.as_str(), patch(&json!([{ "op": "remove", "path": "displayName" }]))),
        (
            "PATCH",
            path.as_str(),
            patch(&json!([{ "op": "add", "path": "members[value eq \"5\"].x" }])),
        ),
    ] {
        let refusal = server.send(method, path, body.clone()).await;
        assert_eq!(refusal.status, 400, "{method} {body}: {}", refusal.text());
    }

    let list = server.send("GET", GROUPS, Value::Null).await.body;
    assert_eq!(list["totalResults"], json!(2));
    assert_eq!(server.send("GET", &path, Value::Null).await.body["members"], json!([]));
}
