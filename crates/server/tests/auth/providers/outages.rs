//! Providers that do not answer, or not as one does.

use pia_testkit::databases::TestDatabase;

use super::browser::Browser;
use super::fake::{Whim, whole};
use super::{
    code_reported, desktop_login, error_reported, knowing, location, login, parameter, with_fake,
};

/// Port that is never handed out as a free one.
const NOBODY: &str = "http://127.0.0.1:1";
const DISCOVERY: &str = "/.well-known/openid-configuration";

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_down_is_reported_to_the_program_before_the_browser_leaves() {
    let app = knowing(TestDatabase::sqlite(), NOBODY).start().await;

    let program = Browser::without_pages(&app).get(&desktop_login()).await;
    let page = Browser::of(&app).get(&login(&[("provider", "oidc")])).await;
    let json = Browser::without_pages(&app).get(&login(&[("provider", "oidc")])).await;

    assert_eq!(error_reported(&program), "provider_unreachable");
    assert_eq!(program.header("set-cookie"), None);
    assert_eq!(parameter(&location(&page), "reason").as_deref(), Some("provider_unreachable"));
    assert_eq!(json.refusal(), (502, "provider_unreachable"));
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_provider_does_instead_of_answering_is_reported_and_mended_by_trying_again() {
    let flood = format!("\"{}\"", "x".repeat(2 * 1024 * 1024));
    let elsewhere = "HTTP/1.1 302 Found\r\nlocation: /jwks\r\ncontent-length: 0\r\n\r\n";
    let html = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>";
    for (path, whim, code) in [
        (DISCOVERY, Whim::Silent, "provider_unreachable"),
        (DISCOVERY, Whim::States(html.to_owned()), "provider_unreachable"),
        (DISCOVERY, Whim::States(elsewhere.to_owned()), "provider_unreachable"),
        (DISCOVERY, Whim::States(whole("200 OK", "{}")), "provider_unreachable"),
        (DISCOVERY, Whim::States(whole("200 OK", &flood)), "provider_unreachable"),
        (DISCOVERY, Whim::States(whole("404 Not Found", "{}")), "provider_unreachable"),
        ("/jwks", Whim::States(whole("500 Oh", "{}")), "provider_unreachable"),
        ("/token", Whim::Silent, "provider_unreachable"),
        ("/token", Whim::States(whole("503 Later", "<html>")), "provider_unreachable"),
        ("/token", Whim::States(elsewhere.to_owned()), "provider_unreachable"),
        ("/token", Whim::States(whole("200 OK", &flood)), "provider_unreachable"),
        ("/token", Whim::States(String::new()), "provider_unreachable"),
        ("/token", Whim::States(html.to_owned()), "provider_unreachable"),
        ("/token", Whim::States(whole("400 No", r#"{"error":"invalid_grant"}"#)), "provider_error"),
        (
            "/token",
            Whim::States(whole("401 No", r#"{"error":"invalid_client"}"#)),
            "provider_error",
        ),
        (
            "/token",
            Whim::States(whole("200 OK", r#"{"access_token":"a","token_type":"Bearer"}"#)),
            "provider_error",
        ),
        (
            "/token",
            Whim::States(whole(
                "200 OK",
                r#"{"access_token":"a","token_type":"Bearer","id_token":"a.b.c"}"#,
            )),
            "provider_error",
        ),
    ] {
        let (fake, app) = with_fake(TestDatabase::sqlite()).await;
        fake.script().whims = vec![(path, whim.clone())];
        let mut browser = Browser::of(&app);

        let mut answer = browser.get(&desktop_login()).await;
        if path == "/token" {
            answer = browser.get(&fake.admit(&location(&answer))).await;
        }
        fake.script().whims.clear();
        let left = browser.get(&desktop_login()).await;
        let again = browser.get(&fake.admit(&location(&left))).await;

        assert_eq!(error_reported(&answer), code, "{path} {:.60}", format!("{whim:?}"));
        assert_eq!(code_reported(&again).len(), 43);
    }
}
