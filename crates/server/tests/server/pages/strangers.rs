//! Pages with everything that users can write, and a walk over all links.
//!
//! A walk opens each page that is linked, fills each of its forms with markup,
//! and opens all pages again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use pia_server_testkit::console::Console;
use pia_server_testkit::harness::PASSWORD;
use pia_server_testkit::mcp_peer::{MCP_TOKEN, McpPeer};
use pia_server_testkit::on_both_databases;
use pia_server_testkit::polling::until;
use pia_testkit::databases::TestDatabase;
use pia_web::Route;
use serde_json::json;
use url::Url;

use super::html::{PageField, PageForm, PageParts};
use super::page_routes::is_path_of;
use super::visitor::{ADA, Visitor, start_with_admin};
use super::{FORM, form, planted};

on_both_databases!(
    markup_in_any_field_stays_text_on_every_page,
    markup_in_the_result_of_a_tool_stays_text,
    links_in_answers_to_refused_forms_lead_to_pages,
);

/// Media type of a form that [`multipart`] encodes.
pub(super) const MULTIPART: (&str, &str) = ("content-type", "multipart/form-data; boundary=b");
/// Element that no page of the server has.
const ELEMENT: &str = "pia-markup";
/// Characters that would end an attribute and a cell.
const BREAKOUT: &str = "\"'></td>";
/// Forms that end the walk, or what it needs.
const EXCLUDED: [&str; 5] =
    ["sign-out", "/account/password", "/admin/settings", "end", "/admin/licence"];
/// Maximum number of pages of a walk, against links without end.
const MAX_PAGES: usize = 900;

/// Pages with texts of users, devices, pods, models, their providers and other systems.
const WITH_PLANTED_TEXTS: [&str; 18] = [
    "/admin/devices",
    "/admin/audit/",
    "/admin/groups",
    "/admin/feedback/",
    "/admin/connectors/pods",
    "/test-call",
    "/questions",
    "/documents/",
    "/admin/mail/",
    "/admin/models/",
    "/admin/operators/",
    "/deliveries",
    "/admin/usage",
    "/admin/users?sort=",
    "/account/api-keys/",
    "/account/app-passwords/",
    "/account/devices/",
    "/account/passkeys/",
];

/// Visitor who follows links and submits forms.
pub(super) struct Walk<'a> {
    visitor: Visitor<'a>,
    /// Texts of the pages by path; empty for files and redirects.
    pub(super) pages: BTreeMap<String, String>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(visitor: Visitor<'a>) -> Self {
        Self { visitor, pages: BTreeMap::new() }
    }

    /// Opens all pages of the console and the account that are linked.
    pub(super) async fn visit(&mut self) {
        self.pages.clear();
        let mut queue = VecDeque::from(["/admin".to_owned(), "/account".to_owned()]);
        while let Some(path) = queue.pop_front() {
            if self.pages.contains_key(&path) {
                continue;
            }
            assert!(self.pages.len() < MAX_PAGES, "{path}");
            let answer = self.visitor.get(&path).await;
            assert!([200, 303].contains(&answer.status), "{path}: {}", answer.text());
            let is_html =
                answer.header("content-type").is_some_and(|it| it.starts_with("text/html"));
            let text = if is_html { answer.text() } else { String::new() };
            let parts = PageParts::parse(&text);
            assert!(!parts.has_element(ELEMENT), "{path}: {text}");
            assert!(!text.contains(BREAKOUT), "{path}: {text}");

            let links = parts.links.iter().filter_map(|it| resolve(&path, it));
            queue.extend(links.filter(|it| is_page(it)));
            self.pages.insert(path, text);
        }
    }

    /// Submits each safe form, with markup in its fields.
    async fn submit_all(&self) {
        let forms = self.safe_forms();
        for (number, (action, form)) in (1..).zip(&forms) {
            self.submit(action, form, number).await;
        }
        assert!(forms.len() > 30, "{forms:?}");
    }

    /// Submits each safe form without its fields, and checks that links in the answers lead
    /// to pages. Returns the paths of refused forms.
    async fn submit_empty(&self) -> BTreeSet<String> {
        let routes = pia_server::routes();
        let body = form(&[("csrfToken", &self.visitor.csrf_token().await)]);
        let mut refused = BTreeSet::new();

        for (action, _) in self.safe_forms() {
            let answer = self.visitor.post(&action, &[], &body).await;
            check_links(&routes, &action, &answer.text());
            if (400..500).contains(&answer.status) {
                refused.insert(action);
            }
        }

        refused
    }

    /// Returns the forms of all pages with their paths, without those that destroy something
    /// or end the walk.
    fn safe_forms(&self) -> Vec<(String, PageForm)> {
        let mut actions = BTreeSet::new();
        let mut forms = Vec::new();
        for (path, text) in &self.pages {
            for page_form in PageParts::parse(text).forms {
                let action = resolve(path, &page_form.action).expect("an action");
                let is_excluded = EXCLUDED.iter().any(|it| action.ends_with(it));
                if page_form.is_danger || is_excluded || !actions.insert(action.clone()) {
                    continue;
                }
                forms.push((action, page_form));
            }
        }
        forms
    }

    async fn submit(&self, action: &str, form: &PageForm, number: usize) {
        let fields: Vec<_> = form
            .fields
            .iter()
            .map(|field| (field.name.as_str(), sample_value(field, number)))
            .collect();
        let pairs: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = if form.has_files {
            let body = multipart(&pairs);
            self.visitor.send("POST", action, &[MULTIPART], &body).await
        } else {
            self.visitor.send("POST", action, &[FORM], &super::form(&pairs)).await
        };
        assert!(answer.status < 500, "{action}: {}", answer.text());
        let parts = PageParts::parse(&answer.text());
        assert!(!parts.has_element(ELEMENT), "{action}: {}", answer.text());
    }
}

/// Returns the value that is typed into a field: markup wherever a text is accepted.
fn sample_value(field: &PageField, number: usize) -> String {
    let PageField { name, kind, value } = field;
    match (name.as_str(), kind.as_str()) {
        ("proof", _) => PASSWORD.to_owned(),
        (_, "text" | "textarea" | "search") => markup(number),
        (_, "email") => format!("user{number}@example.org"),
        (_, "number") if value.is_empty() => "1".to_owned(),
        _ => value.clone(),
    }
}

/// Returns text that closes attributes and elements, and opens one.
fn markup(number: usize) -> String {
    format!("{number}{BREAKOUT}</textarea></title><{ELEMENT}>")
}

/// Encodes a form with files, whose fields are `file` and `package`.
pub(super) fn multipart(pairs: &[(&str, &str)]) -> String {
    let part = |(name, value): &(&str, &str)| {
        let is_file = ["file", "package"].contains(name);
        let file_name =
            if is_file { format!("; filename=\"<{ELEMENT}>.txt\"") } else { String::new() };
        format!(
            "--b\r\nContent-Disposition: form-data; name=\"{name}\"{file_name}\r\n\r\n{value}\r\n"
        )
    };
    pairs.iter().map(part).collect::<String>() + "--b--\r\n"
}

/// Returns the path and query of a link on a page of this server.
pub(super) fn resolve(page: &str, link: &str) -> Option<String> {
    let base = Url::parse("http://pia.test").ok()?.join(page).ok()?;
    let target = base.join(link).ok()?;
    let query = target.query().map(|it| format!("?{it}")).unwrap_or_default();
    (target.origin() == base.origin()).then(|| format!("{}{query}", target.path()))
}

/// Checks that the links and searches in the answer to a form lead to rows that are opened.
fn check_links(routes: &[Route], action: &str, text: &str) {
    let parts = PageParts::parse(text);
    let targets = parts.links.iter().chain(&parts.searches).filter(|it| !it.starts_with('#'));
    for target in targets.filter_map(|it| resolve(action, it)) {
        let path = target.split('?').next().unwrap_or_default();
        let is_open = routes.iter().any(|it| it.method == "GET" && is_path_of(it.path, path));
        assert!(is_open, "{action}: {target}");
    }
}

/// Returns whether a link leads to a page that is walked: other languages, and other
/// orders of a selection, have the same texts. Of the audit log the latest entries are.
fn is_page(path: &str) -> bool {
    let is_signed_in = ["/admin", "/account"].iter().any(|it| path.starts_with(it));
    is_signed_in
        && !["lang=", "&sort="].iter().any(|it| path.contains(it))
        && !path.starts_with("/admin/audit?")
        && !path.ends_with("/login")
}

async fn markup_in_any_field_stays_text_on_every_page(database: TestDatabase) {
    let text = markup(0);
    let upstream = planted::upstream(&text).await;
    let config = planted::with_everything(database, &upstream).with("Ai__Model", &text);
    let app = start_with_admin(config).await;
    planted::plant(&app, &text).await;
    until(async || (app.count("usage_by_group").await > 0).then_some(())).await;
    let agent = [("user-agent", "<pia-markup>"), ("x-device-name", "<pia-markup>")];
    let fields = form(&[("email", ADA), ("password", PASSWORD)]);
    let path = "/account/sign-in";
    app.anonymous().send("POST", path, &[&[FORM][..], &agent].concat(), fields.as_bytes()).await;
    let mut walk = Walk::new(Visitor::sign_in(&app, "admin", ADA).await);
    let escaped = format!("&#60;{ELEMENT}&#62;");

    walk.visit().await;
    for part in WITH_PLANTED_TEXTS {
        let has_text =
            walk.pages.iter().any(|(path, page)| path.contains(part) && page.contains(&escaped));
        assert!(has_text, "{part}: {:?}", walk.pages.keys());
    }
    // Forms on pages that the first ones create are reached the second time.
    for _ in 0..2 {
        walk.submit_all().await;
        walk.visit().await;
    }

    let pages: Vec<_> = walk.pages.iter().filter(|it| it.1.contains(&escaped)).collect();
    assert!(pages.len() > 20, "{} of {}", pages.len(), walk.pages.len());
}

async fn markup_in_the_result_of_a_tool_stays_text(database: TestDatabase) {
    let text = markup(0);
    let server = McpPeer::start(&text).await;
    let upstream = planted::upstream("Hello").await;
    let config = planted::with_everything(database, &upstream);
    let app = start_with_admin(config.with("Operators__AllowPrivateMcpServers", true)).await;
    let console = Console::open(&app, ADA).await;
    let mcp = json!({ "url": server.url, "token": MCP_TOKEN });
    let connector = json!({ "name": "Files", "mcp": mcp });
    let created = console.write("POST", "/api/admin/connectors", connector).await;
    assert_eq!(created.status, 201, "{}", created.text());
    let id = created.body["connectorId"].as_str().expect("an id");
    until(async || {
        let pods = console.get("/api/admin/connectors/pods").await.body;
        pods[0]["tools"].is_array().then_some(())
    })
    .await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;

    let path = format!("/admin/connectors/{id}/test-call");
    let arguments = r#"{"path":"a"}"#;
    let fields = [("csrfToken", &*token), ("tool", "read_file"), ("arguments", arguments)];
    let answer = ada.post(&path, &[], &form(&fields)).await;

    let page = answer.text();
    assert_eq!(answer.status, 200, "{page}");
    assert_eq!(server.called.borrow()["name"], "read_file", "{page}");
    let escaped_count = page.matches(&format!("&#60;{ELEMENT}&#62;")).count();
    assert!(escaped_count >= 2, "in the description and in the result: {page}");
    assert!(!PageParts::parse(&page).has_element(ELEMENT), "{page}");
    assert!(!page.contains(BREAKOUT), "{page}");
}

async fn links_in_answers_to_refused_forms_lead_to_pages(database: TestDatabase) {
    let upstream = planted::upstream("Hello").await;
    let app = start_with_admin(planted::with_everything(database, &upstream)).await;
    planted::plant(&app, "Planted").await;
    let mut walk = Walk::new(Visitor::sign_in(&app, "admin", ADA).await);

    walk.visit().await;
    for (path, page) in &walk.pages {
        for form in PageParts::parse(page).forms {
            assert_eq!(form.repeated_name(), None, "{path}: {form:?}");
        }
    }
    let refused = walk.submit_empty().await;

    for form in ["/rename", "/top-up", "/role", "/upload", "/paste"] {
        assert!(refused.iter().any(|it| it.ends_with(form)), "{form}: {refused:?}");
    }
}
