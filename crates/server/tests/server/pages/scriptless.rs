//! Pages in a browser that runs no script.

use std::collections::BTreeSet;
use std::sync::Arc;

use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::browser::Browser;
use pia_server_testkit::forwarder::Forwarder;
use pia_server_testkit::harness::{PASSWORD, TestConfig};
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::accessible::{NAVIGATION, paths_of_pages, plant_usage};
use super::planted;
use super::proofs::STALE;
use super::visitor::{ADA, start_with_admin};

/// Passkeys need a script, and are offered here to prove that none runs.
#[tokio::test(flavor = "multi_thread")]
async fn the_console_works_without_scripts() {
    const IS_PASSKEY_OFFERED: &str =
        "return document.querySelector('#passkey button').checkVisibility()";
    const COUNT_PASSKEY_ERRORS: &str = "return document.querySelectorAll('#passkey .fault').length";
    let forwarder = Forwarder::new().await;
    let origin = forwarder.origin();
    let config = TestConfig::on(TestDatabase::sqlite()).with("Server__PublicUrl", &origin);
    let app = start_with_admin(config).await;
    forwarder.forward_to(app.addr);
    let browser = Browser::without_scripts().await;
    browser.resize(1280, 900).await;

    browser.goto(&format!("{origin}/admin/login?next=%2Fadmin%2Fgroups")).await;
    browser.find("#passkey form[hidden]").await;
    let is_passkey_offered = browser.run(IS_PASSKEY_OFFERED, json!([])).await;
    let passkey_error_count = browser.run(COUNT_PASSKEY_ERRORS, json!([])).await;
    browser.type_into("#password-email", ADA).await;
    browser.type_into("#password-password", PASSWORD).await;
    browser.click_on("#password button").await;
    let list_heading = browser.text_of(".wide h1").await;
    browser.type_into("#new-name", "Sales").await;
    browser.click_on("#new button").await;
    let group_notice = browser.text_of("[role=status]").await;
    let group_heading = browser.text_of("h1").await;
    browser.click_on("footer a[lang=de]").await;
    let german_button = browser.text_of("html[lang=de] .beside button").await;
    browser.click_on("html[lang=de] .beside button").await;
    let sign_out_notice = browser.text_of(".narrow [role=status]").await;
    browser.goto(&format!("{origin}/admin/groups")).await;
    let last_url = browser.url().await;

    assert_eq!(is_passkey_offered, false);
    assert_eq!(passkey_error_count, 0);
    assert_eq!(list_heading, "Groups");
    assert_eq!(group_notice, "Created.");
    assert_eq!(group_heading, "Sales");
    assert_eq!(german_button, "Abmelden");
    assert_eq!(sign_out_notice, "Sie sind abgemeldet.");
    assert!(last_url.contains("/admin/login?next="), "{last_url}");
    assert_eq!(app.count("user_groups WHERE name = 'Sales'").await, 1);
    browser.assert_no_errors().await;
}

/// Opens every page as an administrator of a server with data of each kind.
#[tokio::test(flavor = "multi_thread")]
async fn every_page_opens_without_scripts() {
    let upstream = planted::upstream("Fine.").await;
    let app = start_with_admin(planted::with_everything(TestDatabase::sqlite(), &upstream)).await;
    plant_usage(&app).await;
    planted::plant(&app, "Travel").await;
    let origin = format!("http://{}", app.addr);
    let browser = Browser::without_scripts().await;
    browser.resize(1280, 900).await;
    browser.sign_in(&format!("{origin}/admin/login"), ADA, PASSWORD).await;

    let paths = paths_of_pages(&app).await;
    let mut navigation = BTreeSet::new();
    for folder in ["/admin", "/account"] {
        browser.goto(&format!("{origin}{folder}")).await;
        let links = browser.run(NAVIGATION, json!([])).await;
        let linked = links.as_array().expect("a list").iter();
        navigation.extend(linked.map(|it| it.as_str().expect("a path").to_owned()));
    }
    for path in &paths {
        browser.goto(&format!("{origin}{path}")).await;
        let heading = browser.text_of(".wide main h1").await;
        if navigation.remove(path) {
            browser.find(".beside a[aria-current=page]").await;
        }

        assert!(!heading.is_empty(), "{path}");
        browser.assert_no_errors().await;
    }

    assert!(paths.iter().any(|it| it.starts_with("/admin/users/")), "{paths:?}");
    assert!(navigation.is_empty(), "not opened: {navigation:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_create_search_and_are_confirmed_without_scripts() {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let config =
        TestConfig::on(TestDatabase::sqlite()).with_mail().at(Arc::<ManualClock>::clone(&clock));
    let app = start_with_admin(config).await;
    app.sign_up("bob@example.org").await;
    let origin = format!("http://{}", app.addr);
    let browser = Browser::without_scripts().await;
    browser.resize(1280, 900).await;
    browser.sign_in(&format!("{origin}/admin/login"), ADA, PASSWORD).await;

    browser.goto(&format!("{origin}/admin/invitations")).await;
    browser.type_into("#new-email", "eve@example.org").await;
    browser.click_on("#new button").await;
    let link = browser.text_of(".secret code").await;
    browser.goto(&format!("{origin}/admin/users")).await;
    browser.type_into(".search input[name=search]", "bob").await;
    browser.click_on(".search button").await;
    let reset = browser.text_of(".search a").await;
    let matches = browser.text_of("main tbody").await;
    clock.advance(STALE);
    browser.goto(&format!("{origin}/admin/scim")).await;
    browser.type_into("#new-name", "Directory").await;
    browser.click_on("#new button").await;
    browser.type_into("#owner-proof", PASSWORD).await;
    browser.click_on("#owner button").await;
    let token = browser.text_of(".secret code").await;

    assert!(link.contains("/auth/register.html?"), "{link}");
    assert_eq!(reset, "Clear filters");
    assert!(matches.contains("bob@example.org") && !matches.contains(ADA), "{matches}");
    assert!(!token.is_empty());
    assert_eq!(app.count("scim_tokens WHERE name = 'Directory'").await, 1);
    browser.assert_no_errors().await;
}
