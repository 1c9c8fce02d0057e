//! Changing a known password.

use pia_server_testkit::client::Client;
use pia_server_testkit::credentials::api_key_client;

use super::*;

on_both_databases!(
    a_change_ends_the_other_sessions_and_notifies_the_owner,
    a_change_reports_other_credentials_and_revokes_them_on_request,
);

const PATH: &str = "/auth/password";

fn change(current: &str, new: &str) -> Value {
    json!({ "currentPassword": current, "newPassword": new })
}

async fn signed_up(database: TestDatabase) -> (TestApp, Client) {
    let app = with_mail(database).await;
    let ada = app.sign_up(ADA).await;
    (app, ada)
}

async fn a_change_ends_the_other_sessions_and_notifies_the_owner(database: TestDatabase) {
    let (app, ada) = signed_up(database).await;
    let other_session = another_session(&app.anonymous(), ADA).await;
    assert_eq!(other_session.get("/auth/me").await.status, 200);

    let response = ada.post(PATH, &change(PASSWORD, NEW)).await;

    let no_credentials = json!({ "success": true, "appPasswords": 0, "apiKeys": 0 });
    assert_eq!(response.status, 200);
    assert_eq!(response.body, no_credentials);
    assert_eq!(ada.get("/auth/me").await.status, 200, "the session goes on");
    assert_eq!(other_session.get("/auth/me").await.refusal(), (401, "unauthorized"));

    let response = refresh(&app.anonymous(), refresh_token(&other_session)).await;
    assert_eq!(response.refusal(), (401, "invalid_refresh_token"));
    let old_response = sign_in(&app.anonymous(), ADA, PASSWORD).await;
    assert_eq!(old_response.refusal(), (401, "invalid_credentials"));
    assert_eq!(sign_in(&app.anonymous(), ADA, NEW).await.status, 200);
    assert_eq!(names_to(&app, ADA).await, ["password-changed"]);
}

async fn a_change_reports_other_credentials_and_revokes_them_on_request(database: TestDatabase) {
    let (app, ada) = signed_up(database).await;
    let body = json!({ "name": "calendar", "password": PASSWORD });
    let created_body = ada.post("/auth/app-passwords", &body).await.body;
    let app_password = created_body["appPassword"].as_str().expect("an app password");
    let script = api_key_client(&app, &ada).await;

    let change_response = ada.post(PATH, &change(PASSWORD, NEW)).await;
    assert_eq!(change_response.body, json!({ "success": true, "appPasswords": 1, "apiKeys": 1 }));
    assert_eq!(sign_in(&app.anonymous(), ADA, app_password).await.status, 200);
    assert_eq!(script.get("/api/ai/templates").await.status, 200);

    let mut revoking_change = change(NEW, PASSWORD);
    revoking_change["revokeAppAccess"] = json!(true);
    let revoking_response = ada.post(PATH, &revoking_change).await;
    assert_eq!(revoking_response.body, json!({ "success": true, "appPasswords": 0, "apiKeys": 0 }));

    let response = sign_in(&app.anonymous(), ADA, app_password).await;
    assert_eq!(response.refusal(), (401, "invalid_credentials"));
    assert_eq!(script.get("/api/ai/templates").await.status, 401);

    let emails = emails_to(&app, ADA).await;
    let keys: Vec<_> = emails
        .iter()
        .filter(|it| it.template == "password-changed")
        .map(|it| it.fields["apiKeys"].clone())
        .collect();
    assert_eq!(keys, ["1", "0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_invalidates_earlier_reset_tokens() {
    let (app, ada) = signed_up(TestDatabase::sqlite()).await;
    let token = request_token(&app).await;

    assert_eq!(ada.post(PATH, &change(PASSWORD, NEW)).await.status, 200);

    let response = reset(&app, ADA, &token, "yet another passphrase").await;
    assert_eq!(response.refusal(), (400, "invalid_reset_token"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_changes_nothing_and_is_counted() {
    let (app, ada) = signed_up(TestDatabase::sqlite()).await;

    for wrong in ["a wrong password", "", &"x".repeat(100_000)].into_iter().cycle().take(10) {
        let response = ada.post(PATH, &change(wrong, NEW)).await;
        assert_eq!(response.refusal(), (403, "invalid_proof"), "{wrong:.20}");
    }
    let limited_response = ada.post(PATH, &change(PASSWORD, NEW)).await;

    assert_eq!(limited_response.refusal(), (429, "rate_limited"));
    assert_eq!(ada.get("/auth/me").await.status, 200);
    assert_eq!(sign_in(&app.anonymous(), ADA, PASSWORD).await.status, 200);
    assert!(names_to(&app, ADA).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unacceptable_new_password_is_reported_by_field() {
    let (_app, ada) = signed_up(TestDatabase::sqlite()).await;

    for (new, code) in [
        ("", "required"),
        ("short", "too_short"),
        ("password123", "common"),
        (ADA, "personal"),
        (PASSWORD, "unchanged"),
        (&*"x".repeat(129), "too_long"),
    ] {
        let response = ada.post(PATH, &change(PASSWORD, new)).await;

        assert_eq!(response.refusal(), (400, "validation_failed"), "{code}");
        assert_eq!(field_errors(&response), [("newPassword", code)]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_fields_and_other_types_of_a_change_are_reported_by_field() {
    let (_app, ada) = signed_up(TestDatabase::sqlite()).await;

    for field in ["currentPassword", "newPassword"] {
        for (value, code) in
            [(Value::Null, "required"), (json!(5), "invalid"), (json!([NEW]), "invalid")]
        {
            let mut body = change(PASSWORD, NEW);
            body[field] = value;
            let response = ada.post(PATH, &body).await;

            assert_eq!(response.refusal(), (400, "validation_failed"), "{field} {code}");
            assert_eq!(field_errors(&response), [(field, code)]);
        }
    }

    let response = ada.post(PATH, &json!({})).await;
    assert_eq!(
        field_errors(&response),
        [("currentPassword", "required"), ("newPassword", "required")]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn of_concurrent_changes_one_succeeds() {
    let (app, ada) = signed_up(TestDatabase::postgres().await).await;
    let passwords: Vec<_> = (0..8).map(|it| format!("a perfectly fine passphrase {it}")).collect();

    let bodies: Vec<_> = passwords.iter().map(|it| change(PASSWORD, it)).collect();
    let responses = join_all(bodies.iter().map(|it| ada.post(PATH, it))).await;

    let accepted_passwords: Vec<_> = responses
        .iter()
        .zip(&passwords)
        .filter(|(response, _)| response.status == 200)
        .map(|(_, password)| password)
        .collect();
    let [password] = accepted_passwords.try_into().expect("one accepted change");
    assert_eq!(sign_in(&app.anonymous(), ADA, password).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_account_has_no_password_to_change() {
    let (app, ada) = signed_up(TestDatabase::sqlite()).await;
    remove_passwords(&app).await;

    let response = ada.post(PATH, &change(PASSWORD, NEW)).await;

    assert_eq!(response.refusal(), (409, "no_password"));
}
