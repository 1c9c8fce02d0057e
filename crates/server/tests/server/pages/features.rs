//! Pages of features that the licence does not include, or that are turned off.

use pia_identity::Role;
use pia_policy::{Feature, Terms};
use pia_server_testkit::harness::{TestApp, TestConfig, terms};
use pia_testkit::databases::TestDatabase;

use super::form;
use super::html::PageParts;
use super::visitor::{ADA, Visitor, sign_up_with_role, start_with_admin};

/// Starts a server whose licence includes these features.
async fn licensed_for(features: &[Feature]) -> TestApp {
    let features = Some(features.iter().copied().collect());
    let licence = Terms { features, ..terms() };
    start_with_admin(TestConfig::on(TestDatabase::sqlite()).licensed(Some(licence))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_navigation_has_no_pages_that_the_licence_lacks() {
    for (features, has_devices) in [(&[Feature::Sync][..], false), (&[Feature::E2ee], true)] {
        let app = licensed_for(features).await;
        let ada = Visitor::sign_in(&app, "account", ADA).await;

        let links = PageParts::parse(&ada.get("/account").await.text()).links;
        let devices = ada.get("/account/devices").await;

        assert!(links.iter().any(|it| it == "account/sessions"), "{links:?}");
        assert_eq!(links.iter().any(|it| it == "account/devices"), has_devices, "{links:?}");
        assert_eq!(devices.status, if has_devices { 200 } else { 403 });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_that_the_licence_lacks_are_replaced_by_a_sentence() {
    for (features, has_form) in [(&[Feature::Sync][..], false), (&[Feature::GroupManagement], true)]
    {
        let app = licensed_for(features).await;
        let ada = Visitor::sign_in(&app, "admin", ADA).await;

        let page = ada.get("/admin/groups").await.text();

        let forms = PageParts::parse(&page).forms;
        let creates = forms.iter().any(|it| it.action.ends_with("admin/groups"));
        assert_eq!(creates, has_form, "{page}");
        let sentence = page.contains("<p>Not included in the licence of this server.</p>");
        assert_eq!(sentence, !has_form, "{page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_what_is_turned_off_name_its_setting() {
    let app = start_with_admin(TestConfig::on(TestDatabase::sqlite())).await;
    let email = sign_up_with_role(&app, Role::KbManager).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let kate = Visitor::sign_in(&app, "admin", &email).await;
    let group = ("groupId", "00000000-0000-7000-8000-000000000001");
    let fields = form(&[("csrfToken", &ada.csrf_token().await), ("name", "Travel"), group]);
    let created = ada.post("/admin/knowledge", &[], &fields).await;
    let location = created.header("location").expect("a page").to_owned();
    let (_, base) = location.rsplit_once('/').expect("an id");
    let id = base.split('?').next().expect("an id");
    let below_base = |page: &str| format!("/admin/knowledge/{id}{page}");

    for (path, key) in [
        ("/admin/assignments", "Operators:Enabled"),
        ("/admin/assignments/schedules", "Operators:Enabled"),
        ("/admin/operators", "Operators:Enabled"),
        ("/admin/knowledge", "Knowledge:ConnectionString"),
        (below_base("").as_str(), "Knowledge:ConnectionString"),
        (below_base("/search").as_str(), "Knowledge:ConnectionString"),
        (below_base("/questions").as_str(), "Knowledge:UnansweredQuestions"),
    ] {
        let page = ada.get(path).await.text();

        assert!(page.contains(&format!("The setting {key} turns this on.")), "{path}: {page}");
        let links = PageParts::parse(&page).links;
        let setting = format!("admin/settings/{key}");
        assert!(links.iter().any(|it| it.ends_with(&setting)), "{path}: {links:?}");
        assert!(!page.contains("Grant an operator to a group"), "{path}: {page}");
    }
    // Managers cannot open the settings.
    let page = kate.get("/admin/knowledge").await.text();
    assert!(page.contains("The setting Knowledge:ConnectionString turns this on."), "{page}");
    assert!(!page.contains("admin/settings/"), "{page}");
}
