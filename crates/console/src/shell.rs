//! Frame around a page: navigation, language and sign-out.
//!
//! `PageContext::render` wraps a `View` in it, and so does `SignInPage` before the
//! sign-in. The markup is in `templates/ui/page.html`.

use actix_web::http::Method;
use askama::Template;
use pia_kernel::Language;

use crate::navigation::{self, NavGroup, NavItem};
use crate::page_context::PageContext;
use crate::texts::common;
use crate::ui::View;
use crate::ui::form::FieldControl;
use crate::ui::view::{Link, SectionPart};

/// Frame around a page.
pub(crate) struct Shell {
    language: Language,
    root: String,
    server_name: String,
    csrf_token: String,
    /// Groups of links; none for pages without navigation.
    nav: Vec<LinkGroup>,
    /// Path of the page that the server's name links to.
    home: &'static str,
    /// Link to the page in the answer to a form, without a query; empty on other pages,
    /// which links of a query alone lead to.
    form_page: String,
    /// Query of the page in the other language; empty if it cannot be opened.
    other_language_query: String,
}

/// Group of links in the navigation.
struct LinkGroup {
    label: &'static str,
    items: Vec<NavLink>,
}

struct NavLink {
    label: &'static str,
    path: &'static str,
    is_current: bool,
}

/// Page within its frame.
#[derive(Template)]
#[template(path = "ui/page.html")]
pub(crate) struct ShellPage<'a> {
    shell: &'a Shell,
    view: &'a View,
}

impl LinkGroup {
    /// Creates the links of a group that the caller may open.
    fn visible(page: &PageContext, group: &'static NavGroup) -> Self {
        let mut items = Vec::new();

        for item in group.items.iter().filter(|it| may_open(page, it)) {
            items.push(NavLink {
                label: item.label.of(page.language),
                path: item.path,
                is_current: item.contains(page.path()),
            });
        }

        Self { label: group.label.of(page.language), items }
    }
}

/// Returns whether a page is one of the console, and not of an account.
fn is_console(page: &PageContext) -> bool {
    page.path().starts_with("admin")
}

/// Returns the navigation of a page, also its items that the caller may not open.
fn nav_groups(page: &PageContext) -> &'static [NavGroup] {
    if is_console(page) { navigation::CONSOLE } else { navigation::ACCOUNT }
}

/// Returns whether the caller may open a page of the navigation.
fn may_open(page: &PageContext, item: &NavItem) -> bool {
    item.is_open_to(page.caller.role) && page.includes_feature_of(&Method::GET, item.path)
}

/// Returns links from a page to the one of the navigation above it, if there is one, and to the
/// first page of the console or of the account.
pub(crate) fn links_back(page: &PageContext) -> Vec<Link> {
    let mut items = nav_groups(page).iter().flat_map(|it| it.items);
    let is_above = |it: &&NavItem| it.contains(page.path()) && it.path != page.path();
    let above = items.find(|it| is_above(it) && may_open(page, it));
    let above = above.map(|it| (it.label, it.path));
    let home = if is_console(page) {
        (common::TO_CONSOLE, "admin")
    } else {
        (common::TO_ACCOUNT, "account")
    };

    above
        .into_iter()
        .chain([home])
        .map(|(label, path)| Link { label: page.t(label).to_owned(), path: path.to_owned() })
        .collect()
}

impl Shell {
    /// Creates the frame of a page of a browser that is signed in.
    pub(crate) fn new(page: &PageContext, server_name: &str, csrf_token: &str) -> Self {
        let groups = nav_groups(page).iter().map(|group| LinkGroup::visible(page, group));
        let other_language = common::other(page.language);
        let form_page = if page.is_submission() {
            format!("{}{}", page.root(), page.page_path())
        } else {
            String::new()
        };
        Self {
            language: page.language,
            root: page.root(),
            form_page,
            server_name: server_name.to_owned(),
            csrf_token: csrf_token.to_owned(),
            nav: groups.filter(|it| !it.items.is_empty()).collect(),
            home: if is_console(page) { "admin" } else { "account" },
            // The response to a form has no address to open in the other language.
            other_language_query: if page.is_submission() {
                String::new()
            } else {
                format!("?{}", page.query_with("lang", other_language.tag()))
            },
        }
    }

    /// Creates the frame of a page before the sign-in.
    pub(crate) fn anonymous(
        language: Language,
        root: String,
        server_name: &str,
        other_language_query: String,
    ) -> Self {
        Self {
            language,
            root,
            server_name: server_name.to_owned(),
            csrf_token: String::new(),
            nav: Vec::new(),
            home: "",
            form_page: String::new(),
            other_language_query,
        }
    }

    /// Returns a page within the frame.
    pub(crate) fn page<'a>(&'a self, view: &'a View) -> ShellPage<'a> {
        ShellPage { shell: self, view }
    }

    fn optional(&self) -> &'static str {
        common::OPTIONAL.of(self.language)
    }

    fn title_prefix(&self, view: &View) -> &'static str {
        let is_error = view.notice.as_ref().is_some_and(|it| it.is_error);
        if is_error { common::ERROR_PREFIX.of(self.language) } else { "" }
    }

    fn t(&self, text: crate::ui::Text) -> &'static str {
        text.of(self.language)
    }

    fn other_language(&self) -> Language {
        common::other(self.language)
    }
}
