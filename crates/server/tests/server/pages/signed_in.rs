//! Pages of browsers that are signed in: access, forms, roles and scripts.

use pia_identity::Role;
use pia_server_testkit::client::TestResponse;
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use pia_web::{Access, Route};

use super::page_routes::{console_pages, is_download, pages, with_unknown_ids};
use super::strangers::resolve;
use super::visitor::{ADA, Visitor, sign_in, sign_up_with_role, start_with_admin};
use super::{FORM, HTML, form};

on_both_databases!(
    an_account_opens_its_own_pages,
    a_session_of_the_account_does_not_open_the_console,
    only_an_administrator_signs_in_to_the_console,
    a_page_leads_to_the_sign_in,
    a_form_after_the_end_of_the_session_leads_back_to_its_page,
    a_wrong_password_is_not_repeated_on_the_page,
    a_sign_in_leads_back_to_pages_of_the_server_alone,
    a_form_requires_the_csrf_token_and_the_same_site,
    pages_are_open_to_the_roles_of_their_routes,
    forms_are_open_to_the_roles_of_their_routes,
    without_a_role_the_console_leads_to_the_sign_in,
);

/// Content policy of pages without a script.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";
/// Content policy of pages with the script.
const SCRIPTED_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
                               connect-src 'self'; img-src 'self' data:; form-action 'self'; \
                               base-uri 'none'; frame-ancestors 'none'";

/// Starts a server that requires no second factor, with an administrator.
async fn with_admin(database: TestDatabase) -> TestApp {
    start_with_admin(TestConfig::on(database)).await
}

async fn an_account_opens_its_own_pages(database: TestDatabase) {
    let app = with_admin(database).await;
    app.sign_up("bob@example.org").await;
    let bob = Visitor::sign_in(&app, "account", "bob@example.org").await;

    let account_page = bob.get("/account").await;
    let sessions_page = bob.get("/account/sessions").await.text();

    assert_eq!(account_page.status, 200);
    assert!(account_page.text().contains("bob@example.org"), "{}", account_page.text());
    assert!(sessions_page.contains("The server’s computer (127.0.0.1)"), "{sessions_page}");
}

async fn a_session_of_the_account_does_not_open_the_console(database: TestDatabase) {
    let app = with_admin(database).await;
    app.sign_up("bob@example.org").await;

    // Nor does that of an administrator.
    for (email, login) in [("bob@example.org", "admin/login?done=no-console"), (ADA, "admin/login")]
    {
        let visitor = Visitor::sign_in(&app, "account", email).await;

        let page = visitor.get("/admin").await;
        assert_eq!(page.status, 303);
        assert_eq!(page.header("location"), Some(login));
        let login_page = visitor.get(&format!("/{login}")).await.text();
        let has_reason = login_page.contains("Your role does not include the console.");
        assert_eq!(has_reason, email != ADA, "{login_page}");

        let cookie = [("cookie", visitor.cookie.as_str())];
        let session = app.anonymous().send("GET", "/api/admin/session", &cookie, b"").await;
        assert_eq!(session.refusal(), (401, "unauthorized"));
    }
    // It still leads to the sign-in of the console, for those who have access to it.
    let bob = Visitor::sign_in(&app, "account", "bob@example.org").await;
    let ada = Visitor::sign_in(&app, "account", ADA).await;
    let console_link = "<a href=\"admin\"";
    assert!(!bob.get("/account").await.text().contains(console_link));
    assert!(ada.get("/account").await.text().contains(console_link));
}

async fn only_an_administrator_signs_in_to_the_console(database: TestDatabase) {
    let app = with_admin(database).await;
    app.sign_up("bob@example.org").await;

    let credentials = [("email", "bob@example.org"), ("password", PASSWORD)];
    let refusal = sign_in(&app, "admin", &credentials).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    assert_eq!(refusal.status, 403);
    assert_eq!(refusal.header("set-cookie"), None);
    assert_eq!(ada.get("/admin").await.status, 200);
    assert_eq!(ada.get("/account").await.status, 200);
}

async fn a_page_leads_to_the_sign_in(database: TestDatabase) {
    let app = with_admin(database).await;

    let to_browser = app.anonymous().send("GET", "/admin/users?search=ada", &[HTML], b"").await;
    let to_program = app.anonymous().send("GET", "/admin/users", &[], b"").await;
    let login_path = "/admin/login?next=%2Fadmin%2Fusers";
    let login_page = app.anonymous().send("GET", login_path, &[HTML], b"").await;

    let login_location = "../admin/login?next=%2Fadmin%2Fusers%3Fsearch%3Dada";
    assert_eq!(to_browser.status, 303);
    assert_eq!(to_browser.header("location"), Some(login_location));
    assert_eq!(to_program.refusal(), (401, "unauthorized"));
    assert_eq!(login_page.status, 200);
    let login_text = login_page.text();
    assert!(login_text.contains("name=\"next\" value=\"/admin/users\""), "{login_text}");
}

async fn a_wrong_password_is_not_repeated_on_the_page(database: TestDatabase) {
    let app = with_admin(database).await;

    let wrong_password = [("email", ADA), ("password", "wrong horse battery")];
    let refusal = sign_in(&app, "admin", &wrong_password).await;

    assert_eq!(refusal.status, 401);
    let text = refusal.text();
    assert!(text.contains("The email address or password is wrong"), "{text}");
    assert!(!text.contains("wrong horse"), "{text}");
}

async fn a_sign_in_leads_back_to_pages_of_the_server_alone(database: TestDatabase) {
    let app = with_admin(database).await;
    let location_after_sign_in = async |next: &str| {
        let fields = [("email", ADA), ("password", PASSWORD), ("next", next)];
        sign_in(&app, "admin", &fields).await.header("location").map(str::to_owned)
    };

    for own in [
        "/admin/users?search=ada",
        "/admin/settings/Server:Name",
        "/admin/models/Ai:Providers:vendor%2Fsmall%202",
    ] {
        assert_eq!(location_after_sign_in(own).await, Some(format!("..{own}")));
    }
    for foreign in [
        "https://evil.example",
        "//evil.example/admin",
        "/admin/../x",
        "/admin/%2e%2E/x",
        "/admin:x@evil.example",
        "/auth/error",
    ] {
        let location = location_after_sign_in(foreign).await;
        assert_eq!(location.as_deref(), Some("../admin"), "{foreign}");
    }
}

async fn a_form_after_the_end_of_the_session_leads_back_to_its_page(database: TestDatabase) {
    const PAGE: &str = "/admin/groups/00000000-0000-7000-8000-000000000001";
    let app = with_admin(database).await;
    let send =
        async |path: &str| app.anonymous().send("POST", path, &[FORM, HTML], b"name=Sales").await;

    let rename = send(&format!("{PAGE}/rename")).await;
    let name = send("/account/name").await;
    let sign_out = send("/account/sign-out").await;
    let path = format!("{PAGE}/rename");
    let login_path = resolve(&path, rename.header("location").expect("a location"));
    let login = app.anonymous().send("GET", &login_path.expect("a path"), &[HTML], b"").await;

    for answer in [&rename, &name, &sign_out] {
        assert_eq!(answer.status, 303, "{}", answer.text());
    }
    assert_eq!(name.header("location"), Some("../account/login?done=not-saved"));
    assert_eq!(sign_out.header("location"), Some("../account/login"));
    assert_eq!(login.status, 200);
    let text = login.text();
    for part in ["You were signed out. Nothing was saved.", &format!("value=\"{PAGE}\"")] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

async fn a_form_requires_the_csrf_token_and_the_same_site(database: TestDatabase) {
    let app = with_admin(database).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;

    for route in pages().filter(|it| it.method == "POST") {
        let path = with_unknown_ids(route.path);
        let valid_body = form(&[("csrfToken", &token)]);
        for (headers, body) in [
            (&[][..], ""),
            (&[], "csrfToken=wrong"),
            (&[("origin", "https://evil.example")], &valid_body),
            (&[("sec-fetch-site", "cross-site")], &valid_body),
        ] {
            let mut answer = ada.post(&path, headers, body).await;
            // Forms with files are sent in another media type.
            if answer.status == 415 {
                answer = ada.upload(&path, headers, body).await;
            }
            assert_eq!(answer.status, 403, "{path} {headers:?} {body}: {}", answer.text());
            assert!(answer.text().contains("another website"), "{path}: {}", answer.text());
        }

        // The browser may have opened another address than the public URL.
        let same_site = [("sec-fetch-site", "same-origin"), ("origin", "http://127.0.0.1:18080")];
        if route.path != "/account/sign-out" {
            let answer = ada.post(&path, &same_site, &valid_body).await;
            assert!(answer.status != 403 || !answer.text().contains("another website"), "{path}");
            // Knowledge is off.
            assert!(answer.status < 500 || answer.status == 503, "{path}: {}", answer.text());
        }
    }

    let sign_out = ada.post("/account/sign-out", &[], &form(&[("csrfToken", &token)])).await;
    assert_eq!(sign_out.status, 303);
    assert_eq!(ada.get("/admin").await.status, 303);
}

async fn pages_are_open_to_the_roles_of_their_routes(database: TestDatabase) {
    let app = with_admin(database).await;
    let accounts = [
        (Role::Admin, ADA.to_owned()),
        (Role::OrgManager, sign_up_with_role(&app, Role::OrgManager).await),
        (Role::KbManager, sign_up_with_role(&app, Role::KbManager).await),
    ];

    for (role, email) in accounts {
        let visitor = Visitor::sign_in(&app, "admin", &email).await;

        for route in pages().filter(|it| it.method == "GET") {
            let path = with_unknown_ids(route.path);
            let answer = visitor.get(&path).await;
            let expected: &[u16] = match route.access {
                Access::ConsolePage(roles) if !roles.contains(&role) => &[403],
                // The group of the path is nobody's.
                Access::GroupPage(_) => &[403, 404],
                _ if route.path.contains('{') => &[200, 404],
                _ => &[200, 303],
            };
            assert!(expected.contains(&answer.status), "{role:?} {path}: {}", answer.text());
            let content_type = answer.header("content-type");
            let is_page = content_type.is_none_or(|it| it.contains("html"));
            assert!(is_page || answer.status == 200, "{path}");
        }
    }
}

/// Asserts that a page may run no script and use no style within its markup,
/// and has none.
fn assert_safe(path: &str, answer: &TestResponse, policy: &str) {
    assert_eq!(answer.header("content-security-policy"), Some(policy), "{path}");
    let text = answer.text();
    let scripts = usize::from(policy == SCRIPTED_POLICY);
    assert_eq!(text.matches("<script").count(), scripts, "{path}: {text}");
    assert_eq!(text.matches("auth/pages.js\" defer></script>").count(), scripts, "{path}: {text}");
    for inline in ["<style", " style=", "javascript:", " onclick=", " onsubmit="] {
        assert!(!text.contains(inline), "{path} {inline}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_pages_with_the_script_may_load_it_and_none_runs_inline_code() {
    let app = with_admin(TestDatabase::sqlite()).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    let mut count = 0;
    for route in pages().filter(|it| it.method == "GET" && !is_download(it)) {
        let path = with_unknown_ids(route.path);
        let answer = ada.get(&path).await;
        match answer.status {
            303 => {}
            200 => {
                assert_safe(&path, &answer, SCRIPTED_POLICY);
                count += 1;
            }
            _ => {
                let has_script = answer.text().contains("<script");
                assert_safe(&path, &answer, if has_script { SCRIPTED_POLICY } else { POLICY });
            }
        }
    }
    assert!(count > 30, "{count}");
    for path in ["/admin/login", "/account/login", "/account/login?error=x"] {
        let answer = app.anonymous().send("GET", path, &[HTML], b"").await;
        assert_safe(path, &answer, SCRIPTED_POLICY);
    }
    for path in [
        "/",
        "/admin/setup",
        "/auth/register.html",
        "/auth/forgot-password.html",
        "/auth/resend-verification.html",
        "/auth/reset-password.html",
        "/auth/verify-email.html",
        "/auth/error?reason=expired",
    ] {
        let answer = app.anonymous().send("GET", path, &[HTML], b"").await;
        assert_safe(path, &answer, POLICY);
    }
}

/// Each form carries the CSRF token of its session, so that only the role
/// decides.
async fn forms_are_open_to_the_roles_of_their_routes(database: TestDatabase) {
    let app = with_admin(database).await;
    let forms: Vec<Route> = console_pages().filter(|it| it.method == "POST").collect();
    let mut refused = 0;

    for role in [Role::OrgManager, Role::KbManager] {
        let email = sign_up_with_role(&app, role).await;
        let visitor = Visitor::sign_in(&app, "admin", &email).await;
        let body = form(&[("csrfToken", &visitor.csrf_token().await)]);
        for route in &forms {
            let path = with_unknown_ids(route.path);
            let answer = visitor.post(&path, &[], &body).await;
            let is_refused =
                answer.status == 403 && answer.text().contains("You do not have access");
            let is_admitted =
                matches!(route.access, Access::ConsolePage(roles) if roles.contains(&role));
            assert_eq!(is_refused, !is_admitted, "{role:?} {path}: {}", answer.text());
            refused += usize::from(is_refused);
        }
    }
    assert!(refused > forms.len() && forms.len() > 50, "{refused} of {}", forms.len());
}

/// Accounts without a role have no session of the console, but one of their own
/// pages, with a CSRF token.
async fn without_a_role_the_console_leads_to_the_sign_in(database: TestDatabase) {
    let app = with_admin(database).await;
    app.sign_up("bob@example.org").await;
    let bob = Visitor::sign_in(&app, "account", "bob@example.org").await;
    let body = form(&[("csrfToken", &bob.csrf_token().await)]);

    for route in console_pages() {
        let method = route.method.as_str();
        let path = with_unknown_ids(route.path);
        let by_bob = bob.send(method, &path, &[FORM], &body).await;
        let by_nobody = app.anonymous().send(method, &path, &[FORM, HTML], body.as_bytes()).await;
        for answer in [by_bob, by_nobody] {
            let location = answer.header("location").unwrap_or_default();
            assert_eq!(answer.status, 303, "{method} {path}: {}", answer.text());
            assert!(location.contains("admin/login"), "{method} {path}: {location}");
        }
    }
}
