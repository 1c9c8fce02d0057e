//! Pages of features that the licence does not include.

use pia_policy::{Feature, Terms};
use pia_server_testkit::harness::{TestApp, TestConfig, terms};
use pia_testkit::databases::TestDatabase;

use super::html::PageParts;
use super::visitor::{ADA, Visitor, start_with_admin};

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
