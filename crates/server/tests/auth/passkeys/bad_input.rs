//! Tests of the bodies of passkey requests.

use pia_server_testkit::credentials::{add_passkey, enrol, passkey_options};

use super::*;

const COMPLETE: &str = "/auth/webauthn/register/complete";
const LOGIN: &str = "/auth/webauthn/login/complete";

#[tokio::test(flavor = "multi_thread")]
async fn a_value_of_another_type_is_reported_by_field() {
    let app = spawn(TestDatabase::sqlite()).await;
    let ada = app.sign_up(EMAIL).await;

    for (path, fields) in [
        ("/auth/webauthn/register/begin", &["password", "code", "recoveryCode"][..]),
        (COMPLETE, &["challengeToken", "name"]),
        (LOGIN, &["challengeToken"]),
    ] {
        for field in fields {
            for value in [json!(123_456), json!(["x"]), json!({}), json!(true)] {
                let response = ada.post(path, &json!({ *field: value })).await;

                assert_eq!(
                    response.refusal(),
                    (400, "validation_failed"),
                    "{path} {field} {value}"
                );
                assert_eq!(response.body["errors"][0]["field"], *field, "{path} {value}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_fields_are_reported() {
    let app = spawn(TestDatabase::sqlite()).await;
    let ada = app.sign_up(EMAIL).await;
    let token = json!("x");
    let name = json!("Key");
    let credential = json!({});

    for (path, body, field) in [
        ("/auth/webauthn/register/begin", json!({}), ""),
        ("/auth/webauthn/register/begin", json!({ "password": null }), ""),
        ("/auth/webauthn/register/begin", json!({ "Password": PASSWORD }), ""),
        (COMPLETE, json!({}), "challengeToken"),
        (COMPLETE, json!({ "name": name, "credential": credential }), "challengeToken"),
        (COMPLETE, json!({ "challengeToken": token, "name": name }), "credential"),
        (COMPLETE, json!({ "challengeToken": token, "credential": credential }), "name"),
        (COMPLETE, json!({ "challengeToken": token, "name": null, "credential": {} }), "name"),
        (LOGIN, json!({}), "challengeToken"),
        (LOGIN, json!({ "challengeToken": null, "credential": credential }), "challengeToken"),
        (LOGIN, json!({ "challengetoken": token, "credential": credential }), "challengeToken"),
        (LOGIN, json!({ "challengeToken": token }), "credential"),
        (LOGIN, json!({ "challengeToken": token, "credential": null }), "credential"),
    ] {
        let response = ada.post(path, &body).await;

        assert_eq!(response.refusal(), (400, "validation_failed"), "{path} {body}");
        let error = &response.body["errors"][0];
        assert_eq!(text(&error["field"]), field, "{body}");
        assert_eq!(text(&error["code"]), "required", "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_one_line_of_up_to_64_characters() {
    let app = spawn(TestDatabase::sqlite()).await;
    let ada = app.sign_up(EMAIL).await;
    let options = passkey_options(&ada).await;
    let credential = Authenticator::new().create(&options["publicKey"]);

    for (name, code) in [
        ("", "required"),
        (" \t ", "required"),
        (&"ß".repeat(65), "too_long"),
        ("a\nb", "invalid"),
        ("a\u{0}", "invalid"),
        ("\u{1b}[31m", "invalid"),
    ] {
        let response = add_passkey(&ada, &options, name, &credential).await;

        assert_eq!(response.refusal(), (400, "validation_failed"), "{name:?}");
        let error = &response.body["errors"][0];
        assert_eq!(text(&error["field"]), "name", "{name:?}");
        assert_eq!(text(&error["code"]), code, "{name:?}");
    }
    let longest = add_passkey(&ada, &options, &"ß".repeat(64), &credential).await;
    assert_eq!(longest.status, 200, "a refused name does not consume the challenge");
}

/// Returns copies of a response with malformed values of a field, each with a
/// description.
fn malformed(valid: &Value, field: &str) -> Vec<(String, Value)> {
    let values =
        [json!(null), json!(7), json!({}), json!([]), json!("!"), json!("a b"), json!("é")];
    let mut cases: Vec<(String, Value)> = values
        .into_iter()
        .map(|value| {
            let mut changed_response = valid.clone();
            changed_response["response"][field] = value.clone();
            (format!("{field}: {value}"), changed_response)
        })
        .collect();
    let mut without = valid.clone();
    without["response"].as_object_mut().expect("an object").remove(field);
    cases.push((format!("no {field}"), without));
    cases
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_attestation_is_reported_by_field() {
    let app = spawn(TestDatabase::sqlite()).await;
    let ada = app.sign_up(EMAIL).await;

    for field in ["clientDataJSON", "attestationObject"] {
        let options = passkey_options(&ada).await;
        let valid_credential = Authenticator::new().create(&options["publicKey"]);
        for (what, credential) in malformed(&valid_credential, field) {
            let options = passkey_options(&ada).await;
            let refused_response = add_passkey(&ada, &options, "Key", &credential).await;

            assert_eq!(refused_response.refusal(), (400, "invalid_passkey_response"), "{what}");
            let reported = text(&refused_response.body["errors"][0]["field"]).to_owned();
            assert!(reported.starts_with("credential.response"), "{what}: {reported}");
        }
    }
    for value in [json!(7), json!("x"), json!([]), json!({}), json!(true)] {
        let options = passkey_options(&ada).await;
        let response = add_passkey(&ada, &options, "Key", &value).await;

        assert_eq!(response.refusal(), (400, "invalid_passkey_response"), "{value}");
        assert_eq!(response.body["errors"][0]["field"], "credential", "{value}");
    }
    assert!(list(&ada).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_assertion_is_refused_without_details() {
    let app = spawn(TestDatabase::sqlite()).await;
    let ada = app.sign_up(EMAIL).await;
    let mut key = Authenticator::new();
    enrol(&ada, &mut key, "Key").await;
    let options = sign_in_options(&app).await;
    let valid_credential = key.get(&options["publicKey"]);

    let fields = ["clientDataJSON", "authenticatorData", "signature", "userHandle"];
    let malformed = fields.iter().flat_map(|it| malformed(&valid_credential, it));
    let others = [json!(7), json!("x"), json!([]), json!({}), json!(true)]
        .into_iter()
        .map(|it| (it.to_string(), it));
    for (what, credential) in malformed.chain(others) {
        let options = sign_in_options(&app).await;
        let response = complete_sign_in(&app, &options, &credential).await;
        assert_eq!(response.refusal(), (401, "invalid_passkey"), "{what}");
    }
    for token in ["", "x", "\u{0}", &"x".repeat(60_000)] {
        let response =
            complete_sign_in(&app, &json!({ "challengeToken": token }), &valid_credential).await;
        assert_eq!(response.refusal(), (401, "invalid_passkey"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_oversized_body_is_rejected() {
    let app = spawn(TestDatabase::sqlite()).await;
    let ada = app.sign_up(EMAIL).await;
    let long_body = json!({ "challengeToken": "x", "credential": "x".repeat(64 * 1024) });

    for path in [COMPLETE, LOGIN] {
        assert_eq!(ada.post(path, &long_body).await.refusal(), (413, "body_too_large"), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn passkeys_count_towards_the_rate_limit_of_sign_ins() {
    let app = setting(TestDatabase::sqlite()).with("RateLimits__LocalAuth", 2).start().await;

    let options = sign_in_options(&app).await;
    let answered = complete_sign_in(&app, &options, &json!({})).await;
    let response = app.anonymous().post("/auth/webauthn/login/begin", &json!({})).await;

    assert_eq!(answered.refusal(), (401, "invalid_passkey"));
    assert_eq!(response.refusal(), (429, "rate_limited"));
}
