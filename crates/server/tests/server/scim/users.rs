//! Users: their accounts, versions and bad input.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use pia_server_testkit::console::Console;
use pia_server_testkit::harness::PASSWORD;
use pia_server_testkit::on_both_databases;

use super::*;

on_both_databases!(
    a_deactivated_user_is_signed_out_at_once,
    a_deleted_user_comes_back_with_their_data,
    a_write_may_name_the_version_that_it_expects,
    of_a_hundred_parallel_writes_none_is_lost,
    bad_input_is_refused_with_a_scim_error,
    pages_cover_the_list_once,
    the_audit_log_names_the_token,
    administrators_are_protected,
);

async fn a_deactivated_user_is_signed_out_at_once(database: TestDatabase) {
    let server = Provisioned::on(database).await;
    let eve = server.app.sign_up("eve@example.org").await;
    assert_eq!(eve.get("/auth/me").await.status, 200);
    let by_name = filtered(USERS, r#"userName eq "EVE@example.org""#);
    let found_user = server.send("GET", &by_name, Value::Null).await.body["Resources"][0].clone();

    server.patch(&found_user, json!([{ "op": "replace", "path": "active", "value": false }])).await;

    assert_eq!(eve.get("/auth/me").await.refusal(), (401, "unauthorized"));
    let credentials = json!({ "email": "eve@example.org", "password": PASSWORD });
    assert_eq!(server.app.anonymous().post("/auth/login/local", &credentials).await.status, 401);
}

async fn a_deleted_user_comes_back_with_their_data(database: TestDatabase) {
    let server = Provisioned::on(database).await;
    let eve = server.app.sign_up("eve@example.org").await;
    let id = eve.user.clone().expect("an id");
    assert_eq!(server.send("DELETE", &format!("{USERS}/{id}"), Value::Null).await.status, 204);
    assert_eq!(eve.get("/auth/me").await.status, 401);

    let again = server.create_user("eve@example.org").await;

    assert_eq!(id_of(&again), id.as_str());
    assert_eq!(again["active"], true);
    let credentials = json!({ "email": "eve@example.org", "password": PASSWORD });
    assert_eq!(server.app.anonymous().post("/auth/login/local", &credentials).await.status, 200);
}

async fn a_write_may_name_the_version_that_it_expects(database: TestDatabase) {
    let server = Provisioned::on(database).await;
    let user = server.create_user("ada@idp.example").await;
    let path = path_of(&user);
    let lookup_response = server.send("GET", &path, Value::Null).await;
    let tag = lookup_response.header("etag").expect("a tag").to_owned();
    assert_eq!(user["meta"]["version"], json!(tag));
    let rename =
        |name: &str| patch(&json!([{ "op": "replace", "path": "displayName", "value": name }]));

    let response = server.send_with("GET", &path, &[("if-none-match", &tag)], Value::Null).await;
    assert_eq!(response.status, 304);
    let first_response =
        server.send_with("PATCH", &path, &[("if-match", &tag)], rename("Ada")).await;
    assert_eq!(first_response.status, 200, "{}", first_response.text());
    assert_ne!(first_response.header("etag"), Some(tag.as_str()));
    for stale in [tag.as_str(), "nonsense", "\"other\""] {
        let refusal = server.send_with("PATCH", &path, &[("if-match", stale)], rename("Eve")).await;
        assert_eq!(refusal.status, 412, "{}", refusal.text());
    }

    let any = server.send_with("PATCH", &path, &[("if-match", "*")], rename("Eve")).await;
    assert_eq!(any.status, 200);
    assert_eq!(any.body["displayName"], "Eve");
}

async fn of_a_hundred_parallel_writes_none_is_lost(database: TestDatabase) {
    let server = Provisioned::on(database).await;
    let user = server.create_user("ada@idp.example").await;
    let path = path_of(&user);

    let creations = (0..100).map(|it| {
        let operation = match it % 3 {
            0 => json!([{ "op": "replace", "path": "name.givenName", "value": "Ada" }]),
            1 => json!([{ "op": "replace", "path": "externalId", "value": "00u1" }]),
            _ => json!([{ "op": "replace", "path": "name.familyName", "value": "Lovelace" }]),
        };
        server.send("PATCH", &path, patch(&operation))
    });
    let statuses: BTreeSet<u16> = join_all(creations).await.iter().map(|it| it.status).collect();

    assert_eq!(statuses, BTreeSet::from([200]));
    let presented_body = server.send("GET", &path, Value::Null).await.body;
    assert_eq!(presented_body["externalId"], "00u1");
    assert_eq!(presented_body["name"]["givenName"], "Ada");
    assert_eq!(presented_body["name"]["familyName"], "Lovelace");
}

async fn bad_input_is_refused_with_a_scim_error(database: TestDatabase) {
    let server = Provisioned::on(database).await;
    let user = server.create_user("ada@idp.example").await;
    let path = path_of(&user);
    let operations = |operations: Value| ("PATCH", path.as_str(), patch(&operations));

    for ((method, path, body), code) in [
        (("POST", USERS, json!([])), "invalidSyntax"),
        (("POST", USERS, json!({})), "invalidValue"),
        (("POST", USERS, json!({ "userName": 5 })), "invalidValue"),
        (("POST", USERS, json!({ "userName": "no-address" })), "invalidValue"),
        (("POST", USERS, json!({ "userName": "x".repeat(500) })), "invalidValue"),
        (("POST", USERS, json!({ "userName": "a@b.example", "active": "maybe" })), "invalidValue"),
        (("POST", USERS, json!({ "userName": "a\nb", "emails": "a@b.example" })), "invalidValue"),
        (("PUT", path.as_str(), json!({ "displayName": "Ada" })), "invalidValue"),
        (("PATCH", path.as_str(), json!({})), "invalidSyntax"),
        (("PATCH", path.as_str(), json!({ "Operations": {} })), "invalidSyntax"),
        (operations(json!([5])), "invalidSyntax"),
        (operations(json!([{ "op": "move", "path": "active" }])), "invalidSyntax"),
        (operations(json!([{ "op": "remove" }])), "noTarget"),
        (operations(json!([{ "op": "replace", "value": 5 }])), "invalidValue"),
        (operations(json!([{ "op": "replace", "path": "a b", "value": 5 }])), "invalidPath"),
        (operations(json!([{ "op": "remove", "path": "emails" }])), "mutability"),
        (operations(json!([{ "op": "remove", "path": "userName" }])), "invalidValue"),
        (("GET", &filtered(USERS, "userName"), Value::Null), "invalidFilter"),
        (("GET", &filtered(USERS, "not (active eq true)"), Value::Null), "invalidFilter"),
    ] {
        let response = server.send(method, path, body.clone()).await;
        assert_eq!(response.refusal(), (400, code), "{method} {body}: {}", response.text());
        assert_eq!(response.body["schemas"][0], "urn:ietf:params:scim:api:messages:2.0:Error");
    }
    for path in [format!("{USERS}/5"), format!("{USERS}/%00"), "/scim/v2/Nothing".to_owned()] {
        let missing_response = server.send("GET", &path, Value::Null).await;
        assert_eq!(missing_response.refusal(), (404, "not_found"), "{path}");
    }

    let malformed = [("content-type", "application/scim+json")];
    let malformed = server.provider.send("POST", USERS, &malformed, b"{").await;
    assert_eq!(malformed.refusal(), (400, "invalidSyntax"));
    assert_eq!(server.send("GET", &path, Value::Null).await.body, user);
}

async fn pages_cover_the_list_once(database: TestDatabase) {
    let server = Provisioned::on(database).await;
    for it in 0..4 {
        server.create_user(&format!("user{it}@idp.example")).await;
    }
    let mut names = BTreeSet::new();

    for start in [1, 3, 5] {
        let path = format!("{USERS}?startIndex={start}&count=2");
        let page = server.send("GET", &path, Value::Null).await.body;
        assert_eq!(page["totalResults"], json!(5));
        let users = page["Resources"].as_array().expect("resources");
        names.extend(users.iter().map(|it| it["userName"].as_str().expect("a name").to_owned()));
    }

    assert_eq!(names.len(), 5);
    for (query, length) in
        [("count=0", 0), ("count=-1", 0), ("startIndex=-5&count=9999", 5), ("startIndex=99", 0)]
    {
        let page = server.send("GET", &format!("{USERS}?{query}"), Value::Null).await;
        assert_eq!(page.status, 200, "{query}");
        assert_eq!(page.body["Resources"].as_array().map(Vec::len), Some(length), "{query}");
    }
    for (query, code) in [("count=", 400), ("startIndex=one", 400), ("filter=%FF", 400)] {
        let refusal = server.send("GET", &format!("{USERS}?{query}"), Value::Null).await;
        assert_eq!(refusal.status, code, "{query}: {}", refusal.text());
        assert_eq!(refusal.body["schemas"][0], "urn:ietf:params:scim:api:messages:2.0:Error");
    }

    let one =
        server.send("GET", &format!("{USERS}?attributes=userName&count=1"), Value::Null).await;
    let names: Vec<&String> =
        one.body["Resources"][0].as_object().expect("a user").keys().collect();
    assert_eq!(names, ["schemas", "id", "userName"]);
}

async fn the_audit_log_names_the_token(database: TestDatabase) {
    let server = Provisioned::on(database).await;
    let user = server.create_user("ada@idp.example").await;
    server.patch(&user, json!([{ "op": "replace", "path": "active", "value": false }])).await;

    for action in ["ScimUser.Created", "account.deactivated"] {
        let list = server.console.get(&format!("/api/admin/audit?action={action}")).await.body;
        let agent = list["items"][0]["actor"].to_string();
        assert!(agent.contains("scim-token:") && agent.contains("(IdP)"), "{list}");
    }
}

async fn administrators_are_protected(database: TestDatabase) {
    let server = Provisioned::on(database).await;
    let by_name = filtered(USERS, r#"userName eq "ada@example.org""#);
    let ada = server.send("GET", &by_name, Value::Null).await.body["Resources"][0].clone();
    let path = path_of(&ada);

    let email = patch(&json!([{ "op": "replace", "path": "emails", "value": "eve@example.org" }]));
    assert_eq!(server.send("PATCH", &path, email).await.refusal(), (400, "mutability"));
    let off = patch(&json!([{ "op": "replace", "path": "active", "value": false }]));
    assert_eq!(server.send("PATCH", &path, off).await.status, 409);
    assert_eq!(server.send("DELETE", &path, Value::Null).await.status, 409);

    assert_eq!(server.console.get("/api/admin/session").await.status, 200);
    let _another = Console::open(&server.app, "ada@example.org").await;
}
