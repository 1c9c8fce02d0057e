//! Pages of a signed-in browser below a base path.

use pia_server_testkit::client::TestResponse;
use pia_server_testkit::harness::{PASSWORD, TestConfig};
use pia_testkit::databases::TestDatabase;

use super::html::PageParts;
use super::strangers::resolve;
use super::visitor::{ADA, Visitor, start_with_admin};
use super::{FORM, HTML, open};

/// Returns the path that a redirect leads to.
fn redirect_target(path: &str, answer: &TestResponse) -> String {
    assert_eq!(answer.status, 303, "{path}: {}", answer.text());
    resolve(path, answer.header("location").expect("a location")).expect("a path")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_below_a_base_path_leads_to_the_requested_page() {
    const GROUPS: &str = "/pia/admin/groups";
    let config = TestConfig::on(TestDatabase::sqlite()).with("Server__BasePath", "/pia");
    let app = start_with_admin(config).await;

    let login_path = redirect_target(GROUPS, &open(&app, GROUPS).await);
    let login_page = PageParts::parse(&open(&app, &login_path).await.text());
    let form = login_page.form_with("password").expect("a form");
    let action = resolve(&login_path, &form.action).expect("a path");
    let body = form.encode_with(&[("email", ADA), ("password", PASSWORD)]);
    let sign_in = app.anonymous().send("POST", &action, &[FORM, HTML], body.as_bytes()).await;

    assert_eq!(action, "/pia/admin/sign-in");
    assert_eq!(redirect_target(&action, &sign_in), GROUPS);
}

#[tokio::test(flavor = "multi_thread")]
async fn links_and_forms_of_pages_stay_below_a_base_path() {
    let config = TestConfig::on(TestDatabase::sqlite()).with("Server__BasePath", "/pia");
    let app = start_with_admin(config).await;
    let ada = Visitor::sign_in(&app, "pia/admin", ADA).await;

    for folder in ["/pia/admin", "/pia/account"] {
        let page = PageParts::parse(&ada.get(folder).await.text());
        let paths: Vec<_> = page.links.iter().filter_map(|it| resolve(folder, it)).collect();
        assert!(paths.len() > 5, "{folder}: {paths:?}");
        for path in paths {
            let answer = ada.get(&path).await;
            assert!(path.starts_with("/pia/"), "{folder}: {path}");
            assert!([200, 303].contains(&answer.status), "{path}: {}", answer.text());
        }
    }

    for (path, field, value) in
        [("/pia/admin/groups", "name", "Engineers"), ("/pia/account", "displayName", "Countess")]
    {
        let page = PageParts::parse(&ada.get(path).await.text());
        let form = page.form_with(field).expect("a form");
        let action = resolve(path, &form.action).expect("a path");
        let answer = ada.post(&action, &[], &form.encode_with(&[(field, value)])).await;
        let next_path = redirect_target(&action, &answer);
        let next_page = ada.get(&next_path).await.text();
        assert!(next_path.starts_with("/pia/"), "{action}: {next_path}");
        assert!(next_page.contains(value), "{next_path}: {next_page}");
    }
}
