//! Tokens of providers that must be rejected, and some that must be accepted.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock, SystemClock};
use pia_server_testkit::client::TestResponse;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::browser::Browser;
use super::fake::{Fake, key, now};
use super::{redirect_code, redirect_error, sign_in_at_provider, with_fake, with_provider};

/// Signs in with these claims, header members and nonce in the token.
async fn with(claims: Value, header: Value, nonce: Option<Value>) -> TestResponse {
    let (fake, app) = with_fake(TestDatabase::sqlite()).await;
    for (name, value) in claims.as_object().expect("claims") {
        fake.set_claim(name, value.clone());
    }
    let mut merged = fake.script().header.clone();
    merged.as_object_mut().expect("a header").extend(header.as_object().expect("more").clone());
    {
        let mut script = fake.script();
        (script.header, script.nonce) = (merged, nonce);
    }
    sign_in_at_provider(&app, &fake).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_with_invalid_claims_is_rejected() {
    for claims in [
        json!({ "iss": "http://127.0.0.1:1" }),
        json!({ "iss": "https://accounts.google.com" }),
        json!({ "iss": null }),
        json!({ "aud": "somebody-else" }),
        json!({ "aud": ["pia", "somebody-else"] }),
        json!({ "aud": [] }),
        json!({ "aud": null }),
        json!({ "azp": "somebody-else" }),
        json!({ "exp": now() - 61 }),
        json!({ "exp": null }),
        json!({ "exp": "tomorrow" }),
        json!({ "nbf": now() + 120 }),
        json!({ "nbf": "tomorrow" }),
        json!({ "iat": now() + 120 }),
        json!({ "iat": null }),
        json!({ "sub": "" }),
        json!({ "sub": "s".repeat(256) }),
        json!({ "sub": null }),
        json!({ "sub": 5 }),
    ] {
        let arrived = with(claims.clone(), json!({}), None).await;
        assert_eq!(redirect_error(&arrived), "provider_error", "{claims}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_another_sign_in_is_rejected() {
    for nonce in [json!("another"), json!(""), json!("n".repeat(43)), Value::Null] {
        let arrived = with(json!({}), json!({}), Some(nonce.clone())).await;
        assert_eq!(redirect_error(&arrived), "provider_error", "{nonce}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_its_provider_did_not_sign_is_rejected() {
    for header in [
        json!({ "alg": "none" }),
        json!({ "alg": "HS256" }),
        json!({ "alg": "RS256" }),
        json!({ "alg": "ES384" }),
        json!({ "alg": "EdDSA" }),
        json!({ "alg": "nonsense" }),
        json!({ "kid": "unknown" }),
        json!({ "crit": ["exp"] }),
        json!({ "typ": "at+jwt" }),
    ] {
        let arrived = with(json!({}), header.clone(), None).await;
        assert_eq!(redirect_error(&arrived), "provider_error", "{header}");
    }

    let (fake, app) = with_fake(TestDatabase::sqlite()).await;
    {
        // Signed by an unpublished key that claims the id of the published one.
        let mut script = fake.script();
        script.keys.push(("forged".to_owned(), key()));
        script.hidden.push("forged".to_owned());
    }
    assert_eq!(redirect_error(&sign_in_at_provider(&app, &fake).await), "provider_error");
}

#[tokio::test(flavor = "multi_thread")]
async fn clocks_may_be_a_minute_apart() {
    for claims in [
        json!({ "exp": now() - 30 }),
        json!({ "iat": now() + 30 }),
        json!({ "nbf": now() + 30 }),
        json!({ "nbf": 0.5 }),
        json!({ "aud": ["pia"], "azp": "pia" }),
        json!({ "email_verified": "true" }),
        json!({ "updated_at": "2026-01-02T03:04:05Z" }),
    ] {
        let arrived = with(claims.clone(), json!({}), None).await;
        assert_eq!(redirect_code(&arrived).len(), 43, "{claims}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_with_a_foreign_issuer_is_rejected() {
    for issuer in ["https://accounts.google.com", "http://127.0.0.1:1", ""] {
        let (fake, app) = with_fake(TestDatabase::sqlite()).await;
        fake.script().discovery = json!({ "issuer": issuer });

        let response = Browser::without_pages(&app).get(&super::desktop_login()).await;

        assert_eq!(redirect_error(&response), "provider_error", "{issuer}");
        assert_eq!(fake.called("/jwks"), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_with_an_unencrypted_endpoint_is_rejected() {
    for endpoint in ["authorization_endpoint", "token_endpoint", "jwks_uri"] {
        let (fake, app) = with_fake(TestDatabase::sqlite()).await;
        fake.script().discovery = json!({ endpoint: "http://id.example/x" });

        let response = Browser::without_pages(&app).get(&super::desktop_login()).await;

        assert_eq!(redirect_error(&response), "provider_unreachable", "{endpoint}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn new_keys_are_fetched_and_unknown_ones_not_fetched_repeatedly() {
    let fake = Fake::start().await;
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = with_provider(TestDatabase::sqlite(), &fake.issuer)
        .at(Arc::clone(&clock) as _)
        .start()
        .await;
    fake.set_claim("exp", (now() + 7200).into());
    assert_eq!(redirect_code(&sign_in_at_provider(&app, &fake).await).len(), 43);

    clock.advance(Duration::from_secs(31));
    {
        let mut script = fake.script();
        script.keys.push(("second".to_owned(), key()));
        script.header["kid"] = json!("second");
    }
    let renewed = sign_in_at_provider(&app, &fake).await;
    fake.script().header["kid"] = json!("third");
    for _ in 0..5 {
        assert_eq!(redirect_error(&sign_in_at_provider(&app, &fake).await), "provider_error");
    }

    assert_eq!(redirect_code(&renewed).len(), 43);
    assert_eq!(fake.called("/jwks"), 2);
    assert_eq!(fake.called("/.well-known/openid-configuration"), 1);
    clock.advance(Duration::from_hours(1));
    Browser::without_pages(&app).get(&super::desktop_login()).await;
    assert_eq!(fake.called("/.well-known/openid-configuration"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configured_tenant_excludes_all_others_for_any_authority() {
    let tenant = "72f988bf-86f1-41af-91ab-2d7cd011db47";
    for (tid, accepted) in [
        (Some(tenant.to_owned()), true),
        (Some(tenant.to_uppercase()), true),
        (Some("9188040d-6c67-4c5b-b112-36a304b66dad".to_owned()), false),
        (Some(String::new()), false),
        (None, false),
    ] {
        let fake = Fake::start().await;
        let app = super::TestConfig::on(TestDatabase::sqlite())
            .with("Server__PublicUrl", super::PUBLIC_URL)
            .with("OAUTH_ENTRAID_CLIENT_ID", "pia")
            .with("OAUTH_ENTRAID_CLIENT_SECRET", super::CLIENT_SECRET)
            .with("OAuth__entraid__TenantId", tenant)
            .with("OAuth__entraid__Authority", &fake.issuer)
            .start()
            .await;
        fake.set_claim("tid", json!(tid));

        let arrived = super::sign_in_at(&app, &fake, "entraid").await;

        if accepted {
            assert_eq!(redirect_code(&arrived).len(), 43);
        } else {
            assert_eq!(redirect_error(&arrived), "provider_error", "{tid:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_issuer_of_a_microsoft_token_must_match_its_tenant() {
    let tenant = "72f988bf-86f1-41af-91ab-2d7cd011db47";
    for (issuer, tid, accepted) in [
        (tenant, Some(tenant), true),
        ("9188040d-6c67-4c5b-b112-36a304b66dad", Some(tenant), false),
        (tenant, None, false),
        ("{tenantid}", Some("{tenantid}"), false),
        ("x/y", Some("x/y"), false),
    ] {
        let fake = Fake::start().await;
        let app = super::TestConfig::on(TestDatabase::sqlite())
            .with("Server__PublicUrl", super::PUBLIC_URL)
            .with("OAUTH_MICROSOFT_CLIENT_ID", "pia")
            .with("OAUTH_MICROSOFT_CLIENT_SECRET", super::CLIENT_SECRET)
            .with("OAuth__microsoft__Authority", format!("{}/common/v2.0", fake.issuer))
            .with("OAuth__microsoft__TrustEmail", true)
            .start()
            .await;
        fake.script().discovery = json!({ "issuer": format!("{}/{{tenantid}}/v2.0", fake.issuer) });
        fake.set_claim("iss", format!("{}/{issuer}/v2.0", fake.issuer).into());
        fake.set_claim("tid", json!(tid));
        fake.set_claim("email_verified", Value::Null);

        let arrived = super::sign_in_at(&app, &fake, "microsoft").await;

        if accepted {
            assert_eq!(redirect_code(&arrived).len(), 43);
        } else {
            assert_eq!(redirect_error(&arrived), "provider_error", "{issuer} {tid:?}");
        }
    }
}
