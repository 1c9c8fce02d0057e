//! Tests of the targets of a sign-in, and of its start.

use pia_kernel::{Clock, SystemClock};
use pia_policy::{Edition, Terms};
use pia_server_testkit::harness::Setting;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::browser::Browser;
use super::{
    CHALLENGE, HERE, PROGRAM, STATE, VERIFIER, code_reported, desktop_login, desktop_login_at,
    error_reported, knowing, location, login, parameter, path_of, redeem, with_fake,
};

on_both_databases!(
    what_is_called_for_wrongly_is_refused_before_anybody_is_sent_anywhere,
    a_page_of_this_server_gets_a_code_that_its_browser_alone_can_redeem,
);

#[tokio::test(flavor = "multi_thread")]
async fn a_licence_without_the_feature_refuses_all_three_routes() {
    let community = Terms::new("A test", Edition::Community, SystemClock.now());
    let app = Setting::on(TestDatabase::sqlite()).licensed(Some(community)).start().await;

    for answer in [
        app.stranger().get(&desktop_login()).await,
        app.stranger().get("/auth/callback?code=a&state=b").await,
        redeem(&app.stranger(), "a", "b").await,
    ] {
        assert_eq!(answer.refusal(), (403, "feature_not_licensed"));
        assert_eq!(answer.body["feature"], "OAuth");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_came_by_another_address_signs_in_at_the_servers_own() {
    let (fake, app) = with_fake(TestDatabase::sqlite()).await;
    let mut browser = Browser::of(&app).host("10.0.0.7:8080");

    let sent = browser.get(&desktop_login()).await;
    let home = location(&sent);
    let mut browser = Browser::of(&app);
    let left = browser.get(&path_of(&home)).await;
    let arrived = browser.get(&fake.admit(&location(&left))).await;

    assert!(home.as_str().starts_with(&format!("{HERE}/auth/login?provider=oidc&")), "{home}");
    assert_eq!(
        (sent.header("set-cookie"), parameter(&home, "state").as_deref()),
        (None, Some(STATE))
    );
    let envelope = redeem(&app.stranger(), &code_reported(&arrived), VERIFIER).await;
    assert_eq!(envelope.status, 200, "{}", envelope.text());
    // A proxy may hide the address that a browser called.
    let hidden = Browser::of(&app).host("127.0.0.1:8080").get(&path_of(&home)).await;
    assert!(location(&hidden).as_str().starts_with(&fake.issuer), "{}", location(&hidden));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_gates_refuse_is_reported_to_a_browser_by_a_page_and_to_others_in_json() {
    let community = Terms::new("A test", Edition::Community, SystemClock.now());
    let community = Setting::on(TestDatabase::sqlite()).licensed(Some(community)).start().await;
    let busy = Setting::on(TestDatabase::sqlite()).with("RateLimits__Auth", 1).start().await;
    busy.stranger().get("/auth/callback").await;

    for (app, status, code) in
        [(&community, 403, "feature_not_licensed"), (&busy, 429, "rate_limited")]
    {
        for path in [&*desktop_login(), "/auth/callback?code=a&state=b"] {
            let page = Browser::of(app).get(path).await;
            let reported = app.stranger().get(path).await;

            assert_eq!((page.status, reported.refusal()), (status, (status, code)), "{path}");
            assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
            assert_eq!(page.header("retry-after").is_some(), status == 429, "{path}");
        }
    }
}

/// Returns invalid sign-in requests, with their errors.
fn requested_wrongly(long: &str) -> Vec<(Vec<(&'static str, &str)>, &'static str)> {
    let (oidc, to) = (("provider", "oidc"), ("redirect_uri", PROGRAM));
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

async fn what_is_called_for_wrongly_is_refused_before_anybody_is_sent_anywhere(
    database: TestDatabase,
) {
    let (fake, app) = with_fake(database).await;
    let long = "ü".repeat(1025);

    for (requested, code) in requested_wrongly(&long) {
        let answer = Browser::without_pages(&app).get(&login(&requested)).await;
        let presented = Browser::of(&app).get(&login(&requested)).await;

        assert_eq!(answer.refusal(), (400, code), "{requested:?}");
        assert_eq!(answer.body["errors"].as_array().map(Vec::len), Some(1), "{requested:?}");
        // A browser is informed by a page of this server.
        let page = location(&presented);
        assert_eq!(page.as_str(), format!("{HERE}/auth/error?reason={code}"), "{requested:?}");
        for answer in [&answer, &presented] {
            assert_eq!(answer.header("set-cookie"), None, "{requested:?}");
        }
    }
    assert_eq!(fake.called("/.well-known/openid-configuration"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_waits_is_informed_that_its_provider_is_unknown() {
    let (_fake, app) = with_fake(TestDatabase::sqlite()).await;

    for provider in ["nobody", "", "local", "oidc\0"] {
        for mut browser in [Browser::of(&app), Browser::without_pages(&app)] {
            let reported = browser.get(&desktop_login_at(provider)).await;

            assert_eq!(error_reported(&reported), "unknown_provider", "{provider}");
            assert_eq!(browser.cookie("__Host-pia_sign_in"), None, "{provider}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_longest_state_comes_back_and_so_does_none() {
    let (fake, app) = with_fake(TestDatabase::sqlite()).await;
    let longest = "ü".repeat(1024);
    for state in [Some(longest.as_str()), Some(""), Some(STATE), None] {
        let mut requested = vec![
            ("provider", "OIDC"),
            ("redirect_uri", "http://[::1]:1/x"),
            ("code_challenge", CHALLENGE),
        ];
        requested.extend(state.map(|it| ("state", it)));
        let mut browser = Browser::of(&app);

        let left = browser.get(&login(&requested)).await;
        let arrived = browser.get(&fake.admit(&location(&left))).await;

        let to = location(&arrived);
        assert!(arrived.header("location").is_some_and(|it| it.starts_with("http://[::1]:1/x?")));
        assert_eq!(parameter(&to, "state").as_deref(), state);
        assert_eq!(parameter(&to, "code").map(|it| it.len()), Some(43));
    }
}

async fn a_page_of_this_server_gets_a_code_that_its_browser_alone_can_redeem(
    database: TestDatabase,
) {
    let (fake, app) = with_fake(database).await;
    let mut browser = Browser::of(&app);
    let start = login(&[("provider", "oidc"), ("redirect_uri", "/admin/users"), ("state", "s")]);

    let left = browser.get(&start).await;
    let arrived = browser.get(&fake.admit(&location(&left))).await;

    let to = location(&arrived);
    assert!(to.as_str().starts_with(&format!("{HERE}/admin/users?code=")), "{to}");
    assert_eq!(parameter(&to, "state").as_deref(), Some("s"));
    let cookie = arrived.header("set-cookie").expect("a cookie");
    assert!(cookie.ends_with("; Path=/; Max-Age=120; HttpOnly; SameSite=Lax; Secure"), "{cookie}");
    let (code, verifier) = (parameter(&to, "code"), browser.cookie("__Host-pia_code_verifier"));
    let (code, verifier) = (code.expect("a code"), verifier.expect("a verifier"));
    assert_eq!(redeem(&app.stranger(), &code, verifier).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cookie_is_for_this_server_alone_and_one_browser_keeps_it() {
    let (fake, app) = with_fake(TestDatabase::sqlite()).await;
    let mut browser = Browser::of(&app);

    let first = browser.get(&desktop_login()).await;
    let second = browser.get(&desktop_login()).await;

    let cookie = first.header("set-cookie").expect("a cookie");
    let value = cookie.strip_prefix("__Host-pia_sign_in=").expect("its name");
    assert_eq!(value.split_at(43).1, "; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure");
    assert_eq!(second.header("set-cookie"), Some(cookie));
    // Both sign-ins can be finished.
    for left in [&second, &first] {
        let back = fake.admit(&location(left));
        let code = code_reported(&browser.get(&back).await);
        assert_eq!(redeem(&app.stranger(), &code, VERIFIER).await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_that_cannot_be_ours_is_replaced() {
    let (_fake, app) = with_fake(TestDatabase::sqlite()).await;
    for planted in ["x", "", "a b", &"ä".repeat(43), &"a".repeat(44)] {
        let mut browser = Browser::of(&app).with("__Host-pia_sign_in", Some(planted));

        browser.get(&desktop_login()).await;

        let stored = browser.cookie("__Host-pia_sign_in").expect("a cookie");
        assert!(stored != planted && stored.len() == 43, "{planted}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_not_set_up_is_reported_to_whoever_waits() {
    let (_fake, app) = with_fake(TestDatabase::sqlite()).await;
    let google = ("provider", "google");
    let to_page = login(&[google, ("redirect_uri", "/admin/users"), ("state", "s")]);
    let mut browser = Browser::of(&app);

    let program = browser.get(&desktop_login_at("google")).await;
    let page = browser.get(&to_page).await;
    let person = browser.get(&login(&[google])).await;
    let other = Browser::without_pages(&app).get(&login(&[google])).await;

    assert_eq!(error_reported(&program), "provider_not_configured");
    let page = location(&page);
    assert_eq!((page.path(), parameter(&page, "state").as_deref()), ("/admin/users", Some("s")));
    assert_eq!(parameter(&page, "error").as_deref(), Some("provider_not_configured"));
    let person = location(&person);
    assert_eq!(person.path(), "/auth/error");
    assert_eq!(parameter(&person, "reason").as_deref(), Some("provider_not_configured"));
    assert_eq!(other.refusal(), (400, "provider_not_configured"));
    assert_eq!(browser.cookie("__Host-pia_sign_in"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_set_up_later_is_there_without_a_restart() {
    let (fake, _) = with_fake(TestDatabase::sqlite()).await;
    let app =
        knowing(TestDatabase::sqlite(), &fake.issuer).without("OAUTH_OIDC_CLIENT_ID").start().await;
    let before = Browser::without_pages(&app).get(&desktop_login()).await;

    app.reload(&serde_json::json!({ "OAuth": { "oidc": { "ClientId": "pia" } } }));
    let after = Browser::without_pages(&app).get(&desktop_login()).await;

    assert_eq!(error_reported(&before), "provider_not_configured");
    assert_eq!(after.status, 302);
}
