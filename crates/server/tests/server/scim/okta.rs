//! Requests in the documentation of Okta's SCIM provisioning.

use pia_server_testkit::on_both_databases;

use super::*;

on_both_databases!(
    a_user_is_imported_created_updated_and_deactivated,
    a_group_is_pushed_with_its_members,
);

async fn a_user_is_imported_created_updated_and_deactivated(database: TestDatabase) {
    let server = Provisioned::on(database).await;

    let listed_response =
        server.send("GET", "/scim/v2/Users?startIndex=1&count=100", Value::Null).await;
    assert_eq!(listed_response.status, 200);
    assert_eq!(listed_response.body["startIndex"], 1);
    assert_eq!(listed_response.body["Resources"][0]["userName"], "ada@example.org");

    let user = json!({
        "schemas": [USER_SCHEMA],
        "userName": "test.user@okta.local",
        "name": { "givenName": "Test", "familyName": "User" },
        "emails": [{ "primary": true, "value": "test.user@okta.local", "type": "work" }],
        "displayName": "Test User",
        "locale": "en-US",
        "externalId": "00ujl29u0le5T6Aj10h7",
        "groups": [],
        "password": "1mz050nq",
        "active": true,
    });
    let creation_response = server.send("POST", USERS, user.clone()).await;
    assert_eq!(creation_response.status, 201, "{}", creation_response.text());
    assert_eq!(creation_response.body["displayName"], "Test User");
    assert!(!creation_response.text().contains("1mz050nq"));

    let second_response = server.send("POST", USERS, user.clone()).await;
    assert_eq!(second_response.refusal(), (409, "uniqueness"), "{}", second_response.text());

    let path = path_of(&creation_response.body);
    let mut changed_user = user;
    changed_user["name"] =
        json!({ "givenName": "Another", "middleName": "Excited", "familyName": "User" });
    changed_user["id"] = creation_response.body["id"].clone();
    let replacement_response = server.send("PUT", &path, changed_user).await;
    assert_eq!(replacement_response.status, 200);
    assert_eq!(replacement_response.body["name"]["givenName"], "Another");

    let deactivated = server
        .patch(&creation_response.body, json!([{ "op": "replace", "value": { "active": false } }]));
    assert_eq!(deactivated.await["active"], json!(false));
    let by_state = filtered(USERS, r#"active eq false and userName eq "TEST.user@okta.local""#);
    let response = server.send("GET", &by_state, Value::Null).await;
    assert_eq!(response.body["totalResults"], json!(1));
    let reactivated = server
        .patch(&creation_response.body, json!([{ "op": "replace", "value": { "active": true } }]));
    assert_eq!(reactivated.await["active"], json!(true));
}

async fn a_group_is_pushed_with_its_members(database: TestDatabase) {
    let server = Provisioned::on(database).await;
    let ada = server.create_user("ada@okta.local").await;
    let bob = server.create_user("bob@okta.local").await;
    let member = |user: &Value| json!({ "value": user["id"], "display": user["userName"] });

    let group = json!({
        "schemas": [GROUP_SCHEMA], "displayName": "Test SCIMv2", "members": [member(&ada)],
    });
    let creation_response = server.send("POST", GROUPS, group).await;
    assert_eq!(creation_response.status, 201, "{}", creation_response.text());
    assert_eq!(creation_response.body["members"][0]["value"], ada["id"]);
    let path = path_of(&creation_response.body);

    let renamed = json!([{
        "op": "replace",
        "value": {
            "id": creation_response.body["id"],
            "displayName": "Test SCIMv2 renamed",
        },
    }]);
    assert_eq!(
        server.patch(&creation_response.body, renamed).await["displayName"],
        "Test SCIMv2 renamed"
    );

    let changed_group = server
        .patch(
            &creation_response.body,
            json!([
                { "op": "remove", "path": format!("members[value eq \"{}\"]", id_of(&ada)) },
                { "op": "add", "path": "members", "value": [member(&bob)] },
            ]),
        )
        .await;
    assert_eq!(changed_group["members"][0]["value"], bob["id"]);
    assert_eq!(changed_group["members"].as_array().map(Vec::len), Some(1));

    let replaced = json!([{ "op": "replace", "path": "members", "value": [member(&ada)] }]);
    assert_eq!(
        server.patch(&creation_response.body, replaced).await["members"][0]["value"],
        ada["id"]
    );
    let put = json!({ "schemas": [GROUP_SCHEMA], "displayName": "Sales", "members": [] });
    let put = server.send("PUT", &path, put).await;
    assert_eq!(put.status, 200);
    assert_eq!(put.body["members"], json!([]));
    let list_response =
        server.send("GET", "/scim/v2/Groups?startIndex=1&count=100", Value::Null).await;
    assert_eq!(list_response.body["totalResults"], json!(2));
}
