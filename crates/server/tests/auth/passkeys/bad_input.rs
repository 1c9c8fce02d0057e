//! Tests of the bodies of passkey requests.

use pia_server_testkit::credentials::{add_passkey, enrol, passkey_options};

use super::*;

const COMPLETE: &str = "/auth/webauthn/register/complete";
const LOGIN: &str = "/auth/webauthn/login/complete";

#[tokio::test(flavor = "multi_thread")]
async fn a_value_of_another_type_is_reported_by_its_field() {
    let app = spawn(TestDatabase::sqlite()).await;
    let ada = app.sign_up(EMAIL).await;

    for (path, fields) in [
        ("/auth/webauthn/register/begin", &["password", "code", "recoveryCode"][..]),
        (COMPLETE, &["challengeToken", "name"]),
        (LOGIN, &["challengeToken"]),
    ] {
        for field in fields {
            for value in [json!(123_456), json!(["x"]), json!({}), json!(true)] {
                let refused = ada.post(path, &json!({ *field: value })).await;

                assert_eq!(refused.refusal(), (400, "validation_failed"), "{path} {field} {value}");
                assert_eq!(refused.body["errors"][0]["field"], *field, "{path} {value}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_is_called_for() {
    let app = spawn(TestDatabase::sqlite()).await;
    let ada = app.sign_up(EMAIL).await;
    let (token, name, credential) = (json!("x"), json!("Key"), json!({}));

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
        let refused = ada.post(path, &body).await;

        assert_eq!(refused.refusal(), (400, "validation_failed"), "{path} {body}");
        let error = &refused.body["errors"][0];
        assert_eq!((text(&error["field"]), text(&error["code"])), (field, "required"), "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_one_line_of_up_to_64_characters() {
    let app = spawn(TestDatabase::sqlite()).await;
    let ada = app.sign_up(EMAIL).await;
    let requested = passkey_options(&ada).await;
    let credential = Authenticator::new().create(&requested["publicKey"]);

    for (name, code) in [
        ("", "required"),
        (" \t ", "required"),
        (&"ß".repeat(65), "too_long"),
        ("a\nb", "invalid"),
        ("a\u{0}", "invalid"),
        ("\u{1b}[31m", "invalid"),
    ] {
        let refused = add_passkey(&ada, &requested, name, &credential).await;

        assert_eq!(refused.refusal(), (400, "validation_failed"), "{name:?}");
        let error = &refused.body["errors"][0];
        assert_eq!((text(&error["field"]), text(&error["code"])), ("name", code), "{name:?}");
    }
    let longest = add_passkey(&ada, &requested, &"ß".repeat(64), &credential).await;
    assert_eq!(longest.status, 200, "a name that was refused uses nothing up");
}

/// Each path into an answer, with each value that is not what browsers send.
fn malformed(whole: &Value, field: &str) -> Vec<(String, Value)> {
    let values =
        [json!(null), json!(7), json!({}), json!([]), json!("!"), json!("a b"), json!("é")];
    let mut all: Vec<(String, Value)> = values
        .into_iter()
        .map(|value| {
            let mut spoilt = whole.clone();
            spoilt["response"][field] = value.clone();
            (format!("{field}: {value}"), spoilt)
        })
        .collect();
    let mut without = whole.clone();
    without["response"].as_object_mut().expect("an object").remove(field);
    all.push((format!("no {field}"), without));
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_another_form_is_reported_by_its_place() {
    let app = spawn(TestDatabase::sqlite()).await;
    let ada = app.sign_up(EMAIL).await;

    for field in ["clientDataJSON", "attestationObject"] {
        let requested = passkey_options(&ada).await;
        let whole = Authenticator::new().create(&requested["publicKey"]);
        for (what, spoilt) in malformed(&whole, field) {
            let requested = passkey_options(&ada).await;
            let refused = add_passkey(&ada, &requested, "Key", &spoilt).await;

            assert_eq!(refused.refusal(), (400, "invalid_passkey_response"), "{what}");
            let reported = text(&refused.body["errors"][0]["field"]).to_owned();
            assert!(reported.starts_with("credential.response"), "{what}: {reported}");
        }
    }
    for value in [json!(7), json!("x"), json!([]), json!({}), json!(true)] {
        let requested = passkey_options(&ada).await;
        let refused = add_passkey(&ada, &requested, "Key", &value).await;

        assert_eq!(refused.refusal(), (400, "invalid_passkey_response"), "{value}");
        assert_eq!(refused.body["errors"][0]["field"], "credential", "{value}");
    }
    assert!(list(&ada).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_another_form_signs_nobody_in_and_reports_nothing() {
    let app = spawn(TestDatabase::sqlite()).await;
    let ada = app.sign_up(EMAIL).await;
    let mut key = Authenticator::new();
    enrol(&ada, &mut key, "Key").await;
    let requested = ask_to_sign_in(&app).await;
    let whole = key.get(&requested["publicKey"]);

    let fields = ["clientDataJSON", "authenticatorData", "signature", "userHandle"];
    let spoilt = fields.iter().flat_map(|it| malformed(&whole, it));
    let others = [json!(7), json!("x"), json!([]), json!({}), json!(true)];
    let others = others.into_iter().map(|it| (it.to_string(), it));
    for (what, spoilt) in spoilt.chain(others) {
        let requested = ask_to_sign_in(&app).await;
        let refused = answer(&app, &requested, &spoilt).await;
        assert_eq!(refused.refusal(), (401, "invalid_passkey"), "{what}");
    }
    for token in ["", "x", "\u{0}", &"x".repeat(60_000)] {
        let refused = answer(&app, &json!({ "challengeToken": token }), &whole).await;
        assert_eq!(refused.refusal(), (401, "invalid_passkey"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_too_long_is_not_read() {
    let app = spawn(TestDatabase::sqlite()).await;
    let ada = app.sign_up(EMAIL).await;
    let long = json!({ "challengeToken": "x", "credential": "x".repeat(64 * 1024) });

    for path in [COMPLETE, LOGIN] {
        assert_eq!(ada.post(path, &long).await.refusal(), (413, "body_too_large"), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_pay_from_the_budget_of_sign_ins() {
    let app = setting(TestDatabase::sqlite()).with("RateLimits__LocalAuth", 2).start().await;

    let requested = ask_to_sign_in(&app).await;
    let answered = answer(&app, &requested, &json!({})).await;
    let refused = app.stranger().post("/auth/webauthn/login/begin", &json!({})).await;

    assert_eq!(answered.refusal(), (401, "invalid_passkey"));
    assert_eq!(refused.refusal(), (429, "rate_limited"));
}
