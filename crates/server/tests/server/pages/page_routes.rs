//! Routes of the pages for browsers that are signed in.

use pia_web::{AcceptedCredentials, Access, Route};

/// Returns the routes of the pages and forms for browsers that are signed in.
pub(super) fn pages() -> impl Iterator<Item = Route> {
    pia_server::routes().into_iter().filter(|it| {
        matches!(it.access, Access::ConsolePage(_) | Access::GroupPage(_) | Access::AccountPage)
    })
}

/// Returns the routes of the console.
pub(super) fn console_pages() -> impl Iterator<Item = Route> {
    pages().filter(|it| it.access != Access::AccountPage)
}

/// Returns a path of a route, with ids that do not exist.
pub(super) fn with_unknown_ids(path: &str) -> String {
    let segment = |it: &str| match it {
        "{number}" => "1".to_owned(),
        it if it.starts_with('{') => "018f0000-0000-7000-8000-00000000dead".to_owned(),
        it => it.to_owned(),
    };
    path.split('/').map(segment).collect::<Vec<_>>().join("/")
}

/// Returns whether a path is one of a route's, with any ids.
pub(super) fn is_path_of(pattern: &str, path: &str) -> bool {
    let mut segments = pattern.split('/').zip(path.split('/'));
    pattern.matches('/').count() == path.matches('/').count()
        && segments.all(|(expected, actual)| expected == actual || expected.starts_with('{'))
}

/// Returns the pattern of the page at a path. An id matches any segment, so that a pattern without
/// one takes precedence.
pub(super) fn pattern_of(path: &str) -> &'static str {
    let path = path.split('?').next().unwrap_or_default();
    let opened = pages().filter(|it| it.method == "GET").map(|it| it.path);
    let matching = opened.filter(|it| is_path_of(it, path));
    let pattern = matching.min_by_key(|it| it.matches('{').count());
    pattern.unwrap_or_else(|| panic!("no page at {path}"))
}

/// Returns whether a route sends a file.
pub(super) fn is_download(route: &Route) -> bool {
    ["export", "download", "/file"].iter().any(|it| route.path.ends_with(it))
}

#[test]
fn pages_are_opened_with_a_cookie() {
    let cookies = [AcceptedCredentials::ConsoleCookie, AcceptedCredentials::BrowserCookie];

    for route in pages().filter(|it| it.method == "GET") {
        assert!(cookies.contains(&route.credentials), "{}", route.path);
    }
}
