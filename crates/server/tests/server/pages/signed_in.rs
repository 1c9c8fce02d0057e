//! Pages of browsers that are signed in: access, forms, roles and every page in
//! a browser.

use std::collections::BTreeMap;

use pia_identity::Role;
use pia_server_testkit::client::TestResponse;
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use pia_web::{AcceptedCredentials, Access, Route};

use super::accessible::PageChecker;
use super::strangers::Walk;
use super::{FORM, HTML, form, planted};

on_both_databases!(
    an_account_opens_its_own_pages_and_not_the_console,
    a_page_leads_to_the_sign_in_and_back,
    a_form_requires_the_csrf_token_and_the_same_site,
    pages_are_open_to_the_roles_of_their_rows,
    forms_are_open_to_the_roles_of_their_rows,
    without_a_role_the_console_leads_to_the_sign_in,
);

pub(super) const ADA: &str = "ada@example.org";
/// Content policy of pages without a script.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";
/// Content policy of pages with the script.
const SCRIPTED_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
                               connect-src 'self'; img-src 'self' data:; form-action 'self'; \
                               base-uri 'none'; frame-ancestors 'none'";

/// Browser that signed in with a form, without a script.
pub(super) struct Visitor<'a> {
    app: &'a TestApp,
    cookie: String,
}

impl<'a> Visitor<'a> {
    /// Signs in at the sign-in page of a folder: `admin`, `account`.
    pub(super) async fn sign_in(app: &'a TestApp, folder: &str, email: &str) -> Self {
        let answer = sign_in(app, folder, &[("email", email), ("password", PASSWORD)]).await;
        assert_eq!(answer.status, 303, "{}", answer.text());
        let cookie = answer.header("set-cookie").expect("a cookie").split(';').next();
        Self { app, cookie: cookie.expect("a value").to_owned() }
    }

    pub(super) async fn get(&self, path: &str) -> TestResponse {
        self.send("GET", path, &[], "").await
    }

    pub(super) async fn post(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> TestResponse {
        self.send("POST", path, &[&[FORM][..], headers].concat(), body).await
    }

    pub(super) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> TestResponse {
        let own = [HTML, ("cookie", self.cookie.as_str())];
        let headers = [&own[..], headers].concat();
        self.app.anonymous().send(method, path, &headers, body.as_bytes()).await
    }

    /// Sends a form with this CSRF token as a browser sends one with files.
    async fn upload(&self, path: &str, headers: &[(&str, &str)], body: &str) -> TestResponse {
        let token = body.strip_prefix("csrfToken=").unwrap_or_default();
        let body = format!(
            "--b\r\nContent-Disposition: form-data; name=\"csrfToken\"\r\n\r\n{token}\r\n--b--\r\n"
        );
        let multipart = [("content-type", "multipart/form-data; boundary=b")];
        self.send("POST", path, &[&multipart[..], headers].concat(), &body).await
    }

    /// Sends a form of a page with its CSRF token.
    pub(super) async fn submit(&self, path: &str) -> TestResponse {
        let body = form(&[("csrfToken", &self.csrf_token().await)]);
        self.post(path, &[], &body).await
    }

    /// Returns the CSRF token of a page's forms.
    pub(super) async fn csrf_token(&self) -> String {
        let page = self.get("/account").await;
        let text = page.text();
        let (_, after) = text.split_once("name=\"csrfToken\" value=\"").expect("a form");
        after.split('"').next().expect("a value").to_owned()
    }
}

pub(super) async fn sign_in(app: &TestApp, folder: &str, fields: &[(&str, &str)]) -> TestResponse {
    let body = form(fields);
    let path = format!("/{folder}/sign-in");
    app.anonymous().send("POST", &path, &[FORM, HTML], body.as_bytes()).await
}

/// Starts a server that requires no second factor, with an administrator.
async fn with_admin(database: TestDatabase) -> TestApp {
    start_with_admin(TestConfig::on(database)).await
}

pub(super) async fn start_with_admin(config: TestConfig) -> TestApp {
    let app = config.with("Admin:RequireSecondFactor", false).start().await;
    app.sign_up(ADA).await;
    app.admin(&format!("grant {ADA} --role admin")).await.expect("a role");
    app
}

/// Creates an account with a role. Returns its address.
pub(super) async fn sign_up_with_role(app: &TestApp, role: Role) -> String {
    let email = format!("{}@example.org", role.name());
    app.sign_up(&email).await;
    app.admin(&format!("grant {email} --role {}", role.name())).await.expect("a role");
    email
}

/// Returns the rows of the pages and forms for browsers that are signed in.
pub(super) fn pages() -> impl Iterator<Item = Route> {
    pia_server::routes().into_iter().filter(|it| {
        matches!(it.access, Access::ConsolePage(_) | Access::GroupPage(_) | Access::AccountPage)
    })
}

/// Returns the rows of the console.
fn console_pages() -> impl Iterator<Item = Route> {
    pages().filter(|it| it.access != Access::AccountPage)
}

/// Returns the path of a row with an id that nothing has.
pub(super) fn with_unknown_ids(path: &str) -> String {
    let segment = |it: &str| match it {
        "{number}" => "1".to_owned(),
        it if it.starts_with('{') => "018f0000-0000-7000-8000-00000000dead".to_owned(),
        it => it.to_owned(),
    };
    path.split('/').map(segment).collect::<Vec<_>>().join("/")
}

async fn an_account_opens_its_own_pages_and_not_the_console(database: TestDatabase) {
    let app = with_admin(database).await;
    app.sign_up("bob@example.org").await;

    let bob = Visitor::sign_in(&app, "account", "bob@example.org").await;
    let ada = Visitor::sign_in(&app, "account", ADA).await;
    let response =
        sign_in(&app, "admin", &[("email", "bob@example.org"), ("password", PASSWORD)]).await;
    let console = Visitor::sign_in(&app, "admin", ADA).await;

    assert_eq!(bob.get("/account").await.status, 200);
    assert!(bob.get("/account").await.text().contains("bob@example.org"));
    let sessions = bob.get("/account/sessions").await.text();
    assert!(sessions.contains("The server’s computer (127.0.0.1)"), "{sessions}");
    assert_eq!(response.status, 403);
    assert_eq!(response.header("set-cookie"), None);
    // Signing in to the account never opens the console, even for an administrator.
    for visitor in [&bob, &ada] {
        let page = visitor.get("/admin").await;
        assert_eq!(page.status, 303);
        assert_eq!(page.header("location"), Some("admin/login"));
        let api = app.anonymous();
        let cookie = [("cookie", visitor.cookie.as_str())];
        let session = api.send("GET", "/api/admin/session", &cookie, b"").await;
        assert_eq!(session.refusal(), (401, "unauthorized"));
    }
    assert_eq!(console.get("/admin").await.status, 200);
    assert_eq!(console.get("/account").await.status, 200);
}

async fn a_page_leads_to_the_sign_in_and_back(database: TestDatabase) {
    let app = with_admin(database).await;

    let location_after_sign_in = async |next: &str| {
        let fields = [("email", ADA), ("password", PASSWORD), ("next", next)];
        sign_in(&app, "admin", &fields).await.header("location").map(str::to_owned)
    };

    let to_browser = app.anonymous().send("GET", "/admin/users?search=ada", &[HTML], b"").await;
    let to_program = app.anonymous().send("GET", "/admin/users", &[], b"").await;
    let login_path = "/admin/login?next=%2Fadmin%2Fusers";
    let login_page = app.anonymous().send("GET", login_path, &[HTML], b"").await;
    let wrong_password = [("email", ADA), ("password", "wrong horse battery")];
    let refusal = sign_in(&app, "admin", &wrong_password).await;
    let location = location_after_sign_in("/admin/users?search=ada").await;

    let login_location = "../admin/login?next=%2Fadmin%2Fusers%3Fsearch%3Dada";
    assert_eq!(to_browser.status, 303);
    assert_eq!(to_browser.header("location"), Some(login_location));
    assert_eq!(to_program.refusal(), (401, "unauthorized"));
    assert_eq!(login_page.status, 200);
    let login_text = login_page.text();
    assert!(login_text.contains("name=\"next\" value=\"/admin/users\""), "{login_text}");
    assert_eq!(refusal.status, 401);
    let refusal_text = refusal.text();
    assert!(refusal_text.contains("The email address or password is wrong"), "{refusal_text}");
    assert!(!refusal_text.contains("wrong horse"), "{refusal_text}");
    assert_eq!(location.as_deref(), Some("../admin/users?search=ada"));
    for own in ["/admin/settings/Server:Name", "/admin/models/Ai:Providers:vendor%2Fsmall%202"] {
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

async fn pages_are_open_to_the_roles_of_their_rows(database: TestDatabase) {
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
async fn forms_are_open_to_the_roles_of_their_rows(database: TestDatabase) {
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

/// Opens every page as an administrator of a server with rows of each kind.
#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_accessible_and_fits_a_phone() {
    let upstream = planted::upstream("Fine.").await;
    let app = start_with_admin(planted::with_everything(TestDatabase::sqlite(), &upstream)).await;
    plant_usage(&app).await;
    planted::plant(&app, "Travel").await;
    let checker = PageChecker::start(&app).await;
    checker.sign_in(ADA).await;
    let mut paths = paths_of_pages(&app).await;
    paths.extend(["/admin/login", "/account/login"].map(str::to_owned));
    paths.push("/admin/usage?by=user&to=x".to_owned());

    for path in &paths {
        checker.check_twice(path).await;
    }
}

/// Returns a path of each page, with ids from links. Panics if no page links to
/// a row of a page with an id.
async fn paths_of_pages(app: &TestApp) -> Vec<String> {
    let rows: Vec<Route> = pages().filter(|it| it.method == "GET" && !is_download(it)).collect();
    let mut walk = Walk::new(Visitor::sign_in(app, "admin", ADA).await);
    walk.visit().await;

    let mut linked: BTreeMap<&str, &str> = BTreeMap::new();
    for link in walk.pages.keys() {
        let path = link.split('?').next().unwrap_or_default();
        let matching = rows.iter().filter(|it| is_path_of(it.path, path));
        // An id matches any segment.
        if let Some(row) = matching.min_by_key(|it| it.path.matches('{').count()) {
            linked.entry(row.path).or_insert(path);
        }
    }

    let mut paths = Vec::new();
    for row in &rows {
        let has_id = row.path.contains('{');
        let path = if has_id { linked.get(row.path).copied() } else { Some(row.path) };
        paths.push(path.unwrap_or_else(|| panic!("no page links to {}", row.path)).to_owned());
    }
    paths
}

/// Returns whether a path is one of a pattern, with any ids.
pub(super) fn is_path_of(pattern: &str, path: &str) -> bool {
    let mut segments = pattern.split('/').zip(path.split('/'));
    pattern.matches('/').count() == path.matches('/').count()
        && segments.all(|(expected, actual)| expected == actual || expected.starts_with('{'))
}

/// Records usage of today and this week, so that pages have charts.
pub(super) async fn plant_usage(app: &TestApp) {
    let of_a_day = ["1280, 3912450000"; 7].join(", ");
    app.execute(&format!(
        "INSERT INTO usage_by_group
             SELECT unixepoch() / 86400, id, 'OpenAI', 'gpt-5', 1280, 3, 2400000, 350000, 1512450,
                 3912450000, 1280, 2944000 FROM user_groups;
         INSERT INTO usage_by_user
             SELECT unixepoch() / 604800, id, {of_a_day} FROM accounts;
         INSERT INTO usage_days SELECT unixepoch() / 86400, COUNT(*) FROM accounts;
         INSERT INTO usage_users SELECT id, unixepoch() / 86400 FROM accounts"
    ))
    .await;
}

/// Returns whether a row sends a file.
pub(super) fn is_download(route: &Route) -> bool {
    let cookie = [AcceptedCredentials::ConsoleCookie, AcceptedCredentials::BrowserCookie];
    assert!(cookie.contains(&route.credentials), "{}", route.path);
    ["export", "download", "/file"].iter().any(|it| route.path.ends_with(it))
}
