//! Requests in the documentation of Entra ID's SCIM provisioning.

use pia_server_testkit::on_both_databases;

use super::*;

on_both_databases!(
    a_user_is_matched_created_updated_and_disabled,
    a_group_is_matched_created_and_filled,
);

async fn a_user_is_matched_created_updated_and_disabled(database: TestDatabase) {
    let server = Provisioned::on(database).await;

    // The connection is tested with a user that does not exist.
    let unknown = r#"userName eq "non-existent user""#;
    let tested = server.send("GET", &filtered(USERS, unknown), Value::Null).await;
    assert_eq!(tested.status, 200);
    assert_eq!(tested.body["totalResults"], 0);
    assert_eq!(tested.header("content-type"), Some("application/scim+json"));

    let user = json!({
        "schemas": [USER_SCHEMA, "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"],
        "externalId": "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef",
        "userName": "Test_User_ab6490ee-1e48-479e-a20b-2d77186b5dd1",
        "active": true,
        "emails": [{
            "primary": true, "type": "work",
            "value": "Test_User_fd0ea19b-0777-472c-9f96-4f70d2226f2e@testuser.com",
        }],
        "meta": { "resourceType": "User" },
        "name": { "formatted": "givenName familyName", "familyName": "familyName", "givenName": "givenName" },
        "roles": [],
    });
    let creation_response = server.send("POST", USERS, user.clone()).await;
    assert_eq!(creation_response.status, 201, "{}", creation_response.text());
    for name in ["externalId", "userName", "active", "emails", "name"] {
        assert_eq!(creation_response.body[name], user[name], "{name}");
    }
    assert_eq!(
        creation_response.header("location"),
        creation_response.body["meta"]["location"].as_str()
    );
    let path = path_of(&creation_response.body);

    let lookup_response = server.send("GET", &path, Value::Null).await;
    assert_eq!(lookup_response.status, 200);
    assert_eq!(lookup_response.body, creation_response.body);
    let by_name = r#"userName eq "Test_User_ab6490ee-1e48-479e-a20b-2d77186b5dd1""#;
    let matched = server.send("GET", &filtered(USERS, by_name), Value::Null).await;
    assert_eq!(matched.body["totalResults"], 1);
    assert_eq!(matched.body["Resources"][0], lookup_response.body);

    let updated = server
        .patch(&creation_response.body, json!([
            { "op": "Replace", "path": "emails[type eq \"work\"].value", "value": "updatedEmail@example.com" },
            { "op": "Replace", "path": "name.familyName", "value": "updatedFamilyName" },
            { "op": "Add", "path": "title", "value": "Dr" },
            { "op": "Add", "path": "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department", "value": "X" },
        ]))
        .await;
    assert_eq!(updated["emails"][0]["value"], "updatedEmail@example.com");
    assert_eq!(updated["name"]["familyName"], "updatedFamilyName");

    let renamed = json!([{ "op": "Replace", "path": "userName", "value": "5b50642d-79fc-4410-9e90-4c077cdd1a59@testuser.com" }]);
    let renamed = server.patch(&creation_response.body, renamed).await;
    assert_eq!(renamed["userName"], "5b50642d-79fc-4410-9e90-4c077cdd1a59@testuser.com");
    assert_eq!(renamed["emails"][0]["value"], "updatedEmail@example.com");

    for (value, active) in [(json!("False"), false), (json!(true), true), (json!(false), false)] {
        let operation = json!([{ "op": "Replace", "path": "active", "value": value }]);
        assert_eq!(server.patch(&creation_response.body, operation).await["active"], json!(active));
    }
    assert_eq!(server.send("DELETE", &path, Value::Null).await.status, 204);
    assert_eq!(server.send("GET", &path, Value::Null).await.refusal(), (404, "not_found"));
    assert_eq!(server.send("DELETE", &path, Value::Null).await.refusal(), (404, "not_found"));
}

async fn a_group_is_matched_created_and_filled(database: TestDatabase) {
    let server = Provisioned::on(database).await;
    let ada = server.create_user("ada@entra.example").await;
    let bob = server.create_user("bob@entra.example").await;

    let by_name = filtered(GROUPS, r#"displayName eq "Group1 Display Name""#);
    let by_name = format!("{by_name}&excludedAttributes=members");
    let matched = server.send("GET", &by_name, Value::Null).await;
    assert_eq!(matched.body["totalResults"], json!(0));

    let group = json!({
        "schemas": [GROUP_SCHEMA, "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"],
        "externalId": "8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159",
        "displayName": "Group1 Display Name",
        "meta": { "resourceType": "Group" },
    });
    let creation_response = server.send("POST", GROUPS, group).await;
    assert_eq!(creation_response.status, 201, "{}", creation_response.text());
    let path = path_of(&creation_response.body);

    let renamed = json!([{ "op": "Replace", "path": "displayName", "value": "1879db59-3bdf-4490-ad68-ab880a269474updatedDisplayName" }]);
    server.patch(&creation_response.body, renamed).await;
    let add = |user: &Value| json!([{ "op": "Add", "path": "members", "value": [{ "$ref": null, "value": user["id"] }] }]);
    server.patch(&creation_response.body, add(&ada)).await;
    let filled = server.patch(&creation_response.body, add(&bob)).await;
    assert_eq!(filled["members"].as_array().map(Vec::len), Some(2));

    let membership =
        format!(r#"id eq "{}" and members eq "{}""#, id_of(&creation_response.body), id_of(&ada));
    let is_member = server.send("GET", &filtered(GROUPS, &membership), Value::Null).await;
    assert_eq!(is_member.body["totalResults"], json!(1));
    let remove = json!([{ "op": "Remove", "path": "members", "value": [{ "$ref": null, "value": ada["id"] }] }]);
    let left = server.patch(&creation_response.body, remove).await;
    assert_eq!(left["members"][0]["value"], bob["id"]);
    let is_member = server.send("GET", &filtered(GROUPS, &membership), Value::Null).await;
    assert_eq!(is_member.body["totalResults"], json!(0));

    let lookup_response =
        server.send("GET", &format!("{path}?excludedAttributes=members"), Value::Null).await;
    assert_eq!(lookup_response.status, 200);
    assert_eq!(lookup_response.body.get("members"), None);
    assert_eq!(server.send("DELETE", &path, Value::Null).await.status, 204);
    let bob = server.send("GET", &path_of(&bob), Value::Null).await.body;
    assert_eq!(bob["groups"][0]["display"], "Default");
}
