//! Tests of the start of a sign-in, and of its targets.

use pia_kernel::{Clock, SystemClock};
use pia_policy::{Edition, Terms};
use pia_server_testkit::client::TestResponse;
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use url::Url;

use super::browser::Browser;
use super::{
    CHALLENGE, PROGRAM, PUBLIC_URL, STATE, VERIFIER, desktop_login, desktop_login_at, location,
    login, parameter, path_of, redeem, redirect_code, redirect_error, with_fake, with_provider,
};

on_both_databases!(
    an_invalid_request_is_refused_before_any_redirect_to_the_provider,
    a_page_of_this_server_gets_a_code_that_only_its_browser_can_redeem,
    a_sign_in_page_leads_to_the_requested_page,
);

#[tokio::test(flavor = "multi_thread")]
async fn without_the_licensed_feature_all_three_routes_are_refused() {
    let community = Terms::new("A test", Edition::Community, SystemClock.now());
    let app = TestConfig::on(TestDatabase::sqlite()).licensed(Some(community)).start().await;

    for response in [
        app.anonymous().get(&desktop_login()).await,
        app.anonymous().get("/auth/callback?code=a&state=b").await,
        redeem(&app.anonymous(), "a", "b").await,
    ] {
        assert_eq!(response.refusal(), (403, "feature_not_licensed"));
        assert_eq!(response.body["feature"], "OAuth");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_at_another_address_is_redirected_to_the_public_url() {
    let (fake, app) = with_fake(TestDatabase::sqlite()).await;
    let mut browser = Browser::of(&app).host("10.0.0.7:8080");

    let redirect = browser.get(&desktop_login()).await;
    let home = location(&redirect);
    let mut browser = Browser::of(&app);
    let to_provider = browser.get(&path_of(&home)).await;
    let arrived = browser.get(&fake.admit(&location(&to_provider))).await;

    assert!(
        home.as_str().starts_with(&format!("{PUBLIC_URL}/auth/login?provider=oidc&")),
        "{home}"
    );
    assert_eq!(redirect.header("set-cookie"), None);
    assert_eq!(parameter(&home, "state").as_deref(), Some(STATE));

    let envelope = redeem(&app.anonymous(), &redirect_code(&arrived), VERIFIER).await;
    assert_eq!(envelope.status, 200, "{}", envelope.text());
    // A proxy may hide the address that the browser requested.
    let hidden = Browser::of(&app).host("127.0.0.1:8080").get(&path_of(&home)).await;
    assert!(location(&hidden).as_str().starts_with(&fake.issuer), "{}", location(&hidden));
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_of_gates_are_pages_for_browsers_and_json_for_others() {
    let community = Terms::new("A test", Edition::Community, SystemClock.now());
    let community = TestConfig::on(TestDatabase::sqlite()).licensed(Some(community)).start().await;
    let busy_server =
        TestConfig::on(TestDatabase::sqlite()).with("RateLimits__Auth", 1).start().await;
    busy_server.anonymous().get("/auth/callback").await;

    for (app, status, code) in
        [(&community, 403, "feature_not_licensed"), (&busy_server, 429, "rate_limited")]
    {
        for path in [&*desktop_login(), "/auth/callback?code=a&state=b"] {
            let page = Browser::of(app).get(path).await;
            let json = app.anonymous().get(path).await;

            assert_eq!(page.status, status, "{path}");
            assert_eq!(json.refusal(), (status, code), "{path}");
            assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
            assert_eq!(page.header("retry-after").is_some(), status == 429, "{path}");
        }
    }
}

/// Returns invalid sign-in requests, with their errors.
fn invalid_requests(long: &str) -> Vec<(Vec<(&'static str, &str)>, &'static str)> {
    let oidc = ("provider", "oidc");
    let to = ("redirect_uri", PROGRAM);
    let challenge = ("code_challenge", CHALLENGE);
    let evil = ("redirect_uri", "https://evil.example/");
    vec![
        (vec![oidc, evil], "invalid_redirect_uri"),
        (vec![("provider", "nobody"), evil], "invalid_redirect_uri"),
        (vec![oidc, ("redirect_uri", "//evil.example/admin")], "invalid_redirect_uri"),
        (vec![oidc, ("redirect_uri", "http://localhost@evil.example/")], "invalid_redirect_uri"),
        (vec![oidc, ("redirect_uri", "")], "invalid_redirect_uri"),
        (vec![oidc, ("redirect_uri", "http://localhost:1/\r\nX: y")], "invalid_redirect_uri"),
        (vec![oidc, to], "code_challenge_required"),
        (vec![oidc, to, ("code_challenge", "short")], "code_challenge_invalid"),
        (vec![oidc, to, ("code_challenge", "")], "code_challenge_invalid"),
        (vec![oidc, to, challenge, ("code_challenge_method", "plain")], "code_challenge_invalid"),
        (vec![oidc, challenge], "code_challenge_unexpected"),
        (vec![oidc, ("redirect_uri", "/admin"), challenge], "code_challenge_unexpected"),
        (vec![oidc, ("redirect_uri", "/auth/me"), challenge], "code_challenge_unexpected"),
        (vec![oidc, evil, challenge], "code_challenge_unexpected"),
        (vec![oidc, evil, ("code_challenge", "short")], "code_challenge_unexpected"),
        (
            vec![oidc, ("redirect_uri", "https://localhost:5/"), challenge],
            "code_challenge_unexpected",
        ),
        (vec![("provider", "nobody")], "unknown_provider"),
        (vec![], "unknown_provider"),
        (vec![oidc, to, challenge, ("state", long)], "validation_failed"),
        (vec![oidc, to, to, challenge], "validation_failed"),
        (vec![oidc, oidc, to, challenge], "validation_failed"),
        (vec![oidc, to, challenge, ("state", "a"), ("state", "b")], "validation_failed"),
    ]
}

async fn an_invalid_request_is_refused_before_any_redirect_to_the_provider(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let long_text = "ü".repeat(1025);

    for (parameters, code) in invalid_requests(&long_text) {
        let response = Browser::without_pages(&app).get(&login(&parameters)).await;
        let redirect = Browser::of(&app).get(&login(&parameters)).await;

        assert_eq!(response.refusal(), (400, code), "{parameters:?}");
        assert_eq!(response.body["errors"].as_array().map(Vec::len), Some(1), "{parameters:?}");
        // Browsers get a page of this server.
        let page = location(&redirect);
        assert_eq!(
            page.as_str(),
            format!("{PUBLIC_URL}/auth/error?reason={code}"),
            "{parameters:?}"
        );
        for response in [&response, &redirect] {
            assert_eq!(response.header("set-cookie"), None, "{parameters:?}");
        }
    }
    assert_eq!(fake.called("/.well-known/openid-configuration"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_provider_is_reported_to_the_waiting_program() {
    let (_fake, app) = with_fake(TestDatabase::sqlite()).await;

    for provider in ["nobody", "", "local", "oidc\0"] {
        for mut browser in [Browser::of(&app), Browser::without_pages(&app)] {
            let redirect = browser.get(&desktop_login_at(provider)).await;

            assert_eq!(redirect_error(&redirect), "unknown_provider", "{provider}");
            assert_eq!(browser.cookie("__Host-pia_sign_in"), None, "{provider}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_longest_and_the_absent_state_are_returned() {
    let (fake, app) = with_fake(TestDatabase::sqlite()).await;
    let longest = "ü".repeat(1024);
    for state in [Some(longest.as_str()), Some(""), Some(STATE), None] {
        let mut parameters = vec![
            ("provider", "OIDC"),
            ("redirect_uri", "http://[::1]:1/x"),
            ("code_challenge", CHALLENGE),
        ];
        parameters.extend(state.map(|it| ("state", it)));
        let mut browser = Browser::of(&app);

        let redirect = browser.get(&login(&parameters)).await;
        let arrived = browser.get(&fake.admit(&location(&redirect))).await;

        let to = location(&arrived);
        assert!(arrived.header("location").is_some_and(|it| it.starts_with("http://[::1]:1/x?")));
        assert_eq!(parameter(&to, "state").as_deref(), state);
        assert_eq!(parameter(&to, "code").map(|it| it.len()), Some(43));
    }
}

async fn a_page_of_this_server_gets_a_code_that_only_its_browser_can_redeem(
    database: TestDatabase,
) {
    let (fake, app) = with_fake(database).await;
    let mut browser = Browser::of(&app);
    let start = login(&[("provider", "oidc"), ("redirect_uri", "/admin/users"), ("state", "s")]);

    let redirect = browser.get(&start).await;
    let arrived = browser.get(&fake.admit(&location(&redirect))).await;

    let to = location(&arrived);
    assert!(to.as_str().starts_with(&format!("{PUBLIC_URL}/admin/users?code=")), "{to}");
    assert_eq!(parameter(&to, "state").as_deref(), Some("s"));
    let cookie = arrived.header("set-cookie").expect("a cookie");
    assert!(cookie.ends_with("; Path=/; Max-Age=120; HttpOnly; SameSite=Lax; Secure"), "{cookie}");
    let code = parameter(&to, "code").expect("a code");
    let verifier = browser.cookie("__Host-pia_code_verifier").expect("a verifier");
    assert_eq!(redeem(&app.anonymous(), &code, verifier).await.status, 200);
}

/// Returns the path with which a sign-in page links to the provider.
fn provider_link(page: &TestResponse) -> String {
    let text = page.text();
    let (_, link) = text.split_once("href=\"../auth/login?").expect("a link to the provider");
    let query = link.split('"').next().expect("a query");
    format!("/auth/login?{}", query.replace("&#38;", "&"))
}

async fn a_sign_in_page_leads_to_the_requested_page(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;

    for (next, target) in [
        ("", "../account"),
        ("/account/security", "../account/security"),
        ("/account/sign-ins?after=a%26b&lang=de", "../account/sign-ins?after=a%26b&lang=de"),
        ("https://evil.example/account", "../account"),
        ("//evil.example/account", "../account"),
        ("/account/../auth/error", "../account"),
        ("/admin/users", "../account"),
    ] {
        let mut browser = Browser::of(&app);
        let mut sign_in = Url::parse(PUBLIC_URL).expect("a URL");
        sign_in.set_path("/account/login");
        sign_in.query_pairs_mut().append_pair("next", next);
        let page = browser.get(&path_of(&sign_in)).await;

        let redirect = browser.get(&provider_link(&page)).await;
        let arrived = browser.get(&fake.admit(&location(&redirect))).await;
        let signed_in = browser.get(&path_of(&location(&arrived))).await;
        let second_response =
            browser.get(&format!("{}&lang=de", path_of(&location(&arrived)))).await;

        let to = location(&arrived);
        assert_eq!(to.path(), "/account/login", "{next}");
        assert_eq!(parameter(&to, "state").unwrap_or_default(), next);
        assert_eq!(signed_in.status, 200, "{next}: {}", signed_in.text());
        assert_eq!(signed_in.header("refresh"), Some(&*format!("0; url={target}")), "{next}");
        let link = format!("href=\"{}\"", target.replace('&', "&#38;"));
        assert!(signed_in.text().contains(&link), "{link}: {}", signed_in.text());
        // A code is valid once.
        assert_eq!(second_response.status, 400, "{next}");
        let text = second_response.text();
        assert!(text.contains("Diese Anmeldung ist ungültig oder abgelaufen"), "{text}");
        let hidden = format!("name=\"next\" value=\"{}\"", next.replace('&', "&#38;"));
        assert!(text.contains(&hidden), "{hidden}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cookie_is_for_this_server_only_and_is_reused() {
    let (fake, app) = with_fake(TestDatabase::sqlite()).await;
    let mut browser = Browser::of(&app);

    let first_response = browser.get(&desktop_login()).await;
    let second_response = browser.get(&desktop_login()).await;

    let cookie = first_response.header("set-cookie").expect("a cookie");
    let value = cookie.strip_prefix("__Host-pia_sign_in=").expect("its name");
    assert_eq!(value.split_at(43).1, "; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure");
    assert_eq!(second_response.header("set-cookie"), Some(cookie));

    // Both sign-ins can be completed.
    for redirect in [&second_response, &first_response] {
        let callback = fake.admit(&location(redirect));
        let code = redirect_code(&browser.get(&callback).await);
        assert_eq!(redeem(&app.anonymous(), &code, VERIFIER).await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_cookie_is_replaced() {
    let (_fake, app) = with_fake(TestDatabase::sqlite()).await;
    for planted in ["x", "", "a b", &"ä".repeat(43), &"a".repeat(44)] {
        let mut browser = Browser::of(&app).with("__Host-pia_sign_in", Some(planted));

        browser.get(&desktop_login()).await;

        let cookie = browser.cookie("__Host-pia_sign_in").expect("a cookie");
        assert!(cookie != planted && cookie.len() == 43, "{planted}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unconfigured_provider_is_reported_to_the_client() {
    let (_fake, app) = with_fake(TestDatabase::sqlite()).await;
    let google = ("provider", "google");
    let to_page = login(&[google, ("redirect_uri", "/admin/users"), ("state", "s")]);
    let mut browser = Browser::of(&app);

    let program = browser.get(&desktop_login_at("google")).await;
    let page = browser.get(&to_page).await;
    let user = browser.get(&login(&[google])).await;
    let program_response = Browser::without_pages(&app).get(&login(&[google])).await;

    assert_eq!(redirect_error(&program), "provider_not_configured");
    let page_url = location(&page);
    assert_eq!(page_url.path(), "/admin/users");
    assert_eq!(parameter(&page_url, "state").as_deref(), Some("s"));
    assert_eq!(parameter(&page_url, "error").as_deref(), Some("provider_not_configured"));

    let user_url = location(&user);
    assert_eq!(user_url.path(), "/auth/error");
    assert_eq!(parameter(&user_url, "reason").as_deref(), Some("provider_not_configured"));
    assert_eq!(program_response.refusal(), (400, "provider_not_configured"));
    assert_eq!(browser.cookie("__Host-pia_sign_in"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_can_be_configured_without_a_restart() {
    let (fake, _) = with_fake(TestDatabase::sqlite()).await;
    let app = with_provider(TestDatabase::sqlite(), &fake.issuer)
        .without("OAUTH_OIDC_CLIENT_ID")
        .start()
        .await;
    let before = Browser::without_pages(&app).get(&desktop_login()).await;

    app.reload(&serde_json::json!({ "OAuth": { "oidc": { "ClientId": "pia" } } }));
    let later_response = Browser::without_pages(&app).get(&desktop_login()).await;

    assert_eq!(redirect_error(&before), "provider_not_configured");
    assert_eq!(later_response.status, 302);
}
