//! Tests of the bodies of second-factor requests.

use super::*;

const BODIES: [(&str, &[&str]); 4] = [
    ("/auth/login/mfa", &["mfaToken", "code", "recoveryCode"]),
    ("/auth/mfa/totp/verify", &["code"]),
    ("/auth/mfa/disable", &["password", "code", "recoveryCode"]),
    ("/auth/mfa/recovery-codes/regenerate", &["password", "code", "recoveryCode"]),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_value_of_another_type_is_reported_by_field() {
    let ada = Ada::on(TestDatabase::sqlite()).await;

    for (path, fields) in BODIES {
        for field in fields {
            for value in [json!(123_456), json!(["123456"]), json!({}), json!(true)] {
                let body = json!({ *field: value });
                let response = ada.client.post(path, &body).await;

                assert_eq!(response.refusal(), (400, "validation_failed"), "{path} {body}");
                assert_eq!(response.body["errors"][0]["field"], *field, "{path} {body}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_fields_are_reported() {
    let ada = Ada::on(TestDatabase::sqlite()).await;

    for (path, body, field) in [
        ("/auth/login/mfa", json!({}), "mfaToken"),
        ("/auth/login/mfa", json!({ "code": "123456" }), "mfaToken"),
        ("/auth/login/mfa", json!({ "mfaToken": null, "code": "123456" }), "mfaToken"),
        ("/auth/login/mfa", json!({ "mfatoken": "x", "code": "123456" }), "mfaToken"),
        ("/auth/login/mfa", json!({ "mfaToken": "x" }), ""),
        ("/auth/login/mfa", json!({ "mfaToken": "x", "code": null }), ""),
        ("/auth/mfa/totp/verify", json!({}), "code"),
        ("/auth/mfa/totp/verify", json!({ "code": null }), "code"),
        ("/auth/mfa/totp/verify", json!({ "Code": "123456" }), "code"),
        ("/auth/mfa/disable", json!({}), ""),
        ("/auth/mfa/disable", json!({ "password": null }), ""),
        ("/auth/mfa/recovery-codes/regenerate", json!({}), ""),
    ] {
        let response = ada.client.post(path, &body).await;

        assert_eq!(response.refusal(), (400, "validation_failed"), "{path} {body}");
        let error = &response.body["errors"][0];
        assert_eq!(error["field"], json!(field), "{body}");
        assert_eq!(error["code"], "required", "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_proofs_at_once_are_rejected() {
    let ada = Ada::on(TestDatabase::sqlite()).await;
    let recovery_code = ada.codes[0].as_str();

    for (path, body) in [
        ("/auth/login/mfa", json!({ "mfaToken": "x", "code": "1", "recoveryCode": recovery_code })),
        ("/auth/mfa/disable", json!({ "password": PASSWORD, "code": "1" })),
        ("/auth/mfa/disable", json!({ "code": "1", "recoveryCode": recovery_code })),
        (
            "/auth/mfa/recovery-codes/regenerate",
            json!({ "password": "x", "recoveryCode": recovery_code }),
        ),
    ] {
        let response = ada.client.post(path, &body).await;

        assert_eq!(response.refusal(), (400, "validation_failed"), "{path} {body}");
        assert_eq!(response.body["errors"][0]["code"], "invalid", "{path} {body}");
    }
    let still_good = submit_recovery_code(&ada.app, &ada.challenge().await, recovery_code).await;
    assert_eq!(still_good.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_codes_are_refused_as_wrong_codes() {
    let long_text = "1".repeat(100_000);
    for text in
        ["", " ", "12345", "1234567", "abcdef", "12345\u{0}", "\u{661}23456", "+12345", &long_text]
    {
        let ada = Ada::on(TestDatabase::sqlite()).await;
        let token = ada.challenge().await;

        let code = submit_code(&ada.app, &token, text).await;
        let recovery_code = submit_recovery_code(&ada.app, &token, text).await;
        let proofs = ["code", "recoveryCode", "password"].map(|it| json!({ it: text }));
        for proof in proofs {
            let response = ada.client.post("/auth/mfa/disable", &proof).await;
            assert_eq!(response.refusal(), (403, "invalid_proof"), "{text:.20}");
        }

        assert_eq!(code.refusal(), (401, "invalid_mfa_code"), "{text:.20}");
        assert_eq!(recovery_code.refusal(), (401, "invalid_mfa_code"), "{text:.20}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_tokens_are_refused_alike() {
    let ada = Ada::on(TestDatabase::sqlite()).await;
    let long_text = "A".repeat(100_000);

    for token in
        ["", "nonsense", "ÄÖÜ", "\u{0}", &"A".repeat(43), &long_text, refresh_token(&ada.client)]
    {
        let response = submit_code(&ada.app, token, &ada.code()).await;
        assert_eq!(response.refusal(), (401, "invalid_mfa_token"), "{token:.50}");
    }
}
