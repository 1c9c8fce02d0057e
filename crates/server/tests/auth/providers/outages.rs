//! Providers that do not respond, or not as they should.

use pia_testkit::databases::TestDatabase;

use super::browser::Browser;
use super::fake::{Override, json_response};
use super::{
    desktop_login, location, login, parameter, redirect_code, redirect_error, with_fake,
    with_provider,
};

/// Address where nothing listens: the port is never assigned as a free one.
const UNREACHABLE: &str = "http://127.0.0.1:1";
const DISCOVERY: &str = "/.well-known/openid-configuration";

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_provider_is_reported_before_the_redirect() {
    let app = with_provider(TestDatabase::sqlite(), UNREACHABLE).start().await;

    let program = Browser::without_pages(&app).get(&desktop_login()).await;
    let page = Browser::of(&app).get(&login(&[("provider", "oidc")])).await;
    let json = Browser::without_pages(&app).get(&login(&[("provider", "oidc")])).await;

    assert_eq!(redirect_error(&program), "provider_unreachable");
    assert_eq!(program.header("set-cookie"), None);
    assert_eq!(parameter(&location(&page), "reason").as_deref(), Some("provider_unreachable"));
    assert_eq!(json.refusal(), (502, "provider_unreachable"));
}

#[tokio::test(flavor = "multi_thread")]
async fn any_failure_of_a_provider_is_reported_and_can_be_retried() {
    let flood = format!("\"{}\"", "x".repeat(2 * 1024 * 1024));
    let elsewhere = "HTTP/1.1 302 Found\r\nlocation: /jwks\r\ncontent-length: 0\r\n\r\n";
    let html = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>";
    for (path, replaced, code) in [
        (DISCOVERY, Override::Silent, "provider_unreachable"),
        (DISCOVERY, Override::Raw(html.to_owned()), "provider_unreachable"),
        (DISCOVERY, Override::Raw(elsewhere.to_owned()), "provider_unreachable"),
        (DISCOVERY, Override::Raw(json_response("200 OK", "{}")), "provider_unreachable"),
        (DISCOVERY, Override::Raw(json_response("200 OK", &flood)), "provider_unreachable"),
        (DISCOVERY, Override::Raw(json_response("404 Not Found", "{}")), "provider_unreachable"),
        ("/jwks", Override::Raw(json_response("500 Oh", "{}")), "provider_unreachable"),
        ("/token", Override::Silent, "provider_unreachable"),
        ("/token", Override::Raw(json_response("503 Later", "<html>")), "provider_unreachable"),
        ("/token", Override::Raw(elsewhere.to_owned()), "provider_unreachable"),
        ("/token", Override::Raw(json_response("200 OK", &flood)), "provider_unreachable"),
        ("/token", Override::Raw(String::new()), "provider_unreachable"),
        ("/token", Override::Raw(html.to_owned()), "provider_unreachable"),
        (
            "/token",
            Override::Raw(json_response("400 No", r#"{"error":"invalid_grant"}"#)),
            "provider_error",
        ),
        (
            "/token",
            Override::Raw(json_response("401 No", r#"{"error":"invalid_client"}"#)),
            "provider_error",
        ),
        (
            "/token",
            Override::Raw(json_response("200 OK", r#"{"access_token":"a","token_type":"Bearer"}"#)),
            "provider_error",
        ),
        (
            "/token",
            Override::Raw(json_response(
                "200 OK",
                r#"{"access_token":"a","token_type":"Bearer","id_token":"a.b.c"}"#,
            )),
            "provider_error",
        ),
    ] {
        let (fake, app) = with_fake(TestDatabase::sqlite()).await;
        fake.script().overrides = vec![(path, replaced.clone())];
        let mut browser = Browser::of(&app);

        let mut response = browser.get(&desktop_login()).await;
        if path == "/token" {
            response = browser.get(&fake.admit(&location(&response))).await;
        }
        fake.script().overrides.clear();
        let redirect = browser.get(&desktop_login()).await;
        let repeated_response = browser.get(&fake.admit(&location(&redirect))).await;

        assert_eq!(redirect_error(&response), code, "{path} {:.60}", format!("{replaced:?}"));
        assert_eq!(redirect_code(&repeated_response).len(), 43);
    }
}
