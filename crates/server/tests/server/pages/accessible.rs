//! Tests that pages are accessible and fit a phone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pia_identity::Role;
use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::browser::Browser;
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use pia_web::Route;
use serde_json::{Value, json};

use super::page_routes::{is_download, is_path_of, pages};
use super::proofs::STALE;
use super::strangers::Walk;
use super::visitor::{ADA, Visitor, sign_up_with_role, start_with_admin};
use super::{planted, secured};

/// Window of a browser that pages are checked in.
#[derive(Clone, Copy)]
struct Window {
    language: &'static str,
    /// Width in pixels.
    width: u32,
    /// Preferred colours: `light` or `dark`.
    colours: &'static str,
}

/// Windows of a desktop, of a small laptop, and of a small phone. Its 320 pixels include a zoom of 200 % on
/// a desktop, which leaves 640, and of 400 %.
const WINDOWS: [Window; 3] = [
    Window { language: "de", width: 1280, colours: "light" },
    Window { language: "en", width: 1024, colours: "dark" },
    Window { language: "de", width: 320, colours: "light" },
];
/// Script that fills in a form and sends it without the checks of the browser.
const SUBMIT: &str = "
    const form = document.querySelector(arguments[0]);
    for (const [name, value] of Object.entries(arguments[1])) {
        form.elements.namedItem(name).value = value;
    }
    form.submit();";
/// Script that returns the paths of the navigation.
pub(super) const NAVIGATION: &str = "
    return [...document.querySelectorAll('.beside nav a')].map(it => it.pathname)";
/// Browser that checks pages of a server.
pub(super) struct PageChecker {
    pub(super) browser: Browser,
    origin: String,
    /// Source of axe-core.
    axe: String,
    /// Folder for pictures of the pages, if they are wanted.
    pictures: Option<PathBuf>,
}

impl PageChecker {
    /// Starts a browser that prefers English.
    #[expect(clippy::disallowed_methods, reason = "the test runner names its programs")]
    pub(super) async fn start(app: &TestApp) -> Self {
        let folder = std::env::var("TEST_AXE").expect("TEST_AXE: run `cargo xtask test`");
        let file = Path::new(&folder).join("node_modules/axe-core/axe.min.js");
        let axe = std::fs::read_to_string(file).expect("axe-core");
        let pictures = std::env::var_os("PIA_TEST_PICTURES").map(PathBuf::from);
        let origin = format!("http://{}", app.addr);
        Self { browser: Browser::start("en").await, origin, axe, pictures }
    }

    /// Signs in to the console.
    pub(super) async fn sign_in(&self, email: &str) {
        let login = format!("{}/admin/login", self.origin);
        self.browser.sign_in(&login, email, PASSWORD).await;
    }

    /// Checks a page in each window.
    async fn check(&self, path: &str) {
        self.check_in(&WINDOWS, path).await;
    }

    /// Checks a page in two windows, which have both languages, widths and colours.
    pub(super) async fn check_twice(&self, path: &str) {
        self.check_in(&WINDOWS[1..], path).await;
    }

    async fn check_in(&self, windows: &[Window], path: &str) {
        for window in windows {
            self.open(path, *window).await;
            self.inspect(path, *window).await;
        }
    }

    /// Sends a form of a page, and checks the answer in each window. `part` is an
    /// element that the answer has and the page lacks.
    async fn check_answer(&self, path: &str, form: &str, fields: &Value, part: &str) {
        for window in WINDOWS {
            self.open(path, window).await;
            self.browser.run(SUBMIT, json!([form, fields])).await;
            self.browser.find(&format!("html[lang={}] {part}", window.language)).await;
            self.inspect(&format!("{path}/{part}"), window).await;
        }
    }

    /// Checks the page of an outage in each window.
    async fn check_outage(&self, path: &str) {
        for window in WINDOWS {
            self.open(path, window).await;
            self.browser.find("html:not(:has(header)) main h1").await;
            let errors = self.browser.logged_errors().await;
            // The status of the page itself.
            let [status] = errors.as_slice() else { panic!("{path}: {errors:?}") };
            assert!(status.contains("status of 503"), "{path}: {status}");
            self.inspect(path, window).await;
        }
    }

    async fn open(&self, path: &str, window: Window) {
        let Window { language, width, colours } = window;
        self.browser.resize(width, 900).await;
        self.browser.prefer_colours(colours).await;
        let separator = if path.contains('?') { '&' } else { '?' };
        let url = format!("{}{path}{separator}lang={language}", self.origin);
        self.browser.goto(&url).await;
    }

    /// Checks the page that is open.
    async fn inspect(&self, path: &str, window: Window) {
        let Window { language, width, colours } = window;
        let browser = &self.browser;
        let title = browser.text_of("h1").await;
        if let Some(folder) = &self.pictures {
            let name = path.trim_matches('/').replace(['/', '?', '&'], "-");
            let file = folder.join(format!("{name}-{language}-{width}-{colours}.png"));
            browser.picture(&file).await;
        }

        assert!(!title.is_empty(), "{path}");
        assert!(!browser.is_too_wide().await, "{path} at {width}");
        let violations = browser.accessibility_violations(&self.axe).await;
        assert!(violations.is_empty(), "{path} {language} {colours}: {violations:#?}");

        let url = browser.url().await;
        let own_status =
            format!("{url} - Failed to load resource: the server responded with a status of 4");
        let mut errors = browser.logged_errors().await;
        // Advice about password managers, and the status of the page itself.
        errors.retain(|it| !it.contains("[DOM]") && !it.starts_with(&own_status));
        assert!(errors.is_empty(), "{path}: {errors:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_before_the_sign_in_are_accessible() {
    let app = start_with_admin(TestConfig::on(TestDatabase::sqlite()).with_mail()).await;
    let checker = PageChecker::start(&app).await;

    for path in [
        "/",
        "/admin/setup",
        "/admin/login",
        "/account/login",
        "/auth/register.html",
        "/auth/forgot-password.html",
        "/auth/resend-verification.html",
        "/auth/reset-password.html",
        "/auth/verify-email.html",
        "/auth/error?reason=expired",
        "/auth/nope",
    ] {
        checker.check(path).await;
    }
    let wrong = json!({ "email": "eve@example.org", "password": "wrong horse battery" });
    checker.check_answer("/account/login", "#password form", &wrong, ".alert").await;
    checker.check_answer("/auth/register.html", "#form", &json!({}), ".alert").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_the_second_factor_is_accessible() {
    let app = start_with_admin(TestConfig::on(TestDatabase::sqlite())).await;
    let owner = PageChecker::start(&app).await;
    owner.sign_in(ADA).await;
    let english = Window { language: "en", width: 1280, colours: "light" };
    owner.open("/account/security", english).await;
    secured::set_up_app(&owner.browser).await;
    owner.browser.find("#codes a[href$='admin/first-steps']").await;

    let checker = PageChecker::start(&app).await;
    let fields = json!({ "email": ADA, "password": PASSWORD });
    checker.check_answer("/admin/login", "#password form", &fields, "#factor").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_to_forms_are_accessible() {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let config = TestConfig::on(TestDatabase::sqlite()).at(Arc::<ManualClock>::clone(&clock));
    let app = start_with_admin(config).await;
    let checker = PageChecker::start(&app).await;
    checker.sign_in(ADA).await;

    for (path, form, fields) in [
        ("/admin/groups", "#new form", json!({ "name": "" })),
        ("/admin/policies/new", "#contents form", json!({ "name": "Sales", "document": "{" })),
        ("/admin/connectors/new", "#mcp form", json!({ "name": "Docs", "mcp": "nowhere" })),
        ("/admin/settings/Audit:RetentionDays", "#change form", json!({ "value": "0" })),
        ("/account/api-keys", "#new form", json!({ "name": "CI", "weeklyCredits": "-1" })),
    ] {
        checker.check_answer(path, form, &fields, ".alert").await;
    }
    let proved = json!({ "name": "CI", "proof": PASSWORD });
    let token = json!({ "name": "Directory" });
    checker.check_answer("/account/api-keys", "#new form", &proved, ".secret").await;
    checker.check_answer("/admin/scim", "#new form", &token, ".secret").await;
    clock.advance(STALE);
    checker.check_answer("/admin/scim", "#new form", &token, "#owner").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_an_empty_server_are_accessible() {
    let upstream = planted::upstream("Fine.").await;
    let app = start_with_admin(planted::with_everything(TestDatabase::sqlite(), &upstream)).await;
    let checker = PageChecker::start(&app).await;
    checker.sign_in(ADA).await;

    let lists = pages().filter(|it| it.method == "GET" && !it.path.contains('{'));
    for route in lists.filter(|it| !is_download(it)) {
        checker.check(route.path).await;
    }
    for path in ["/admin/nope", "/admin/users/018f0000-0000-7000-8000-00000000dead"] {
        checker.check(path).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_an_outage_are_accessible() {
    let app = start_with_admin(TestConfig::on(TestDatabase::sqlite())).await;
    let checker = PageChecker::start(&app).await;
    checker.sign_in(ADA).await;
    let sign_in_errors = checker.browser.logged_errors().await;
    app.execute("ALTER TABLE user_groups RENAME TO away").await;

    checker.check_outage("/admin/groups").await;

    assert!(sign_in_errors.iter().all(|it| it.contains("[DOM]")), "{sign_in_errors:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_managers_are_accessible() {
    let upstream = planted::upstream("Fine.").await;
    let app = start_with_admin(planted::with_everything(TestDatabase::sqlite(), &upstream)).await;

    for role in [Role::OrgManager, Role::KbManager] {
        let email = sign_up_with_role(&app, role).await;
        let checker = PageChecker::start(&app).await;
        checker.sign_in(&email).await;

        let navigation = checker.browser.run(NAVIGATION, json!([])).await;
        let paths = navigation.as_array().expect("a list");
        assert!(paths.len() > 2, "{role:?}: {paths:?}");
        for path in paths {
            checker.check(path.as_str().expect("a path")).await;
        }
        // Of administrators only.
        checker.check("/admin/settings").await;
    }
}

/// Opens every page as an administrator of a server with data of each kind.
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

/// Returns a path of each page, with ids from links. Panics if no page links to a
/// path of a route with an id.
pub(super) async fn paths_of_pages(app: &TestApp) -> Vec<String> {
    let routes: Vec<Route> = pages().filter(|it| it.method == "GET" && !is_download(it)).collect();
    let mut walk = Walk::new(Visitor::sign_in(app, "admin", ADA).await);
    walk.visit().await;

    let mut linked: BTreeMap<&str, &str> = BTreeMap::new();
    for link in walk.pages.keys() {
        let path = link.split('?').next().unwrap_or_default();
        let matching = routes.iter().filter(|it| is_path_of(it.path, path));
        // An id matches any segment.
        if let Some(route) = matching.min_by_key(|it| it.path.matches('{').count()) {
            linked.entry(route.path).or_insert(path);
        }
    }

    let mut paths = Vec::new();
    for route in &routes {
        let has_id = route.path.contains('{');
        let path = if has_id { linked.get(route.path).copied() } else { Some(route.path) };
        paths.push(path.unwrap_or_else(|| panic!("no page links to {}", route.path)).to_owned());
    }
    paths
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
         INSERT INTO usage_users SELECT id, unixepoch() / 86400 FROM accounts;
         INSERT INTO usage_by_hour (hour, user_id, calls, failed, spent_micros, duration_millis)
             SELECT unixepoch() / 86400 * 24 + value, accounts.id, 20 + value * 7 % 40, value % 3, 163018750,
                 122600 FROM accounts, json_each('[6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]')"
    ))
    .await;
}
