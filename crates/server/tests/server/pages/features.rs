//! Pages of features that the licence does not include, or that are turned off, and pages after
//! the licence's end.

use std::sync::Arc;
use std::time::Duration;

use pia_identity::Role;
use pia_kernel::{Clock as _, SystemClock};
use pia_policy::{Feature, Terms};
use pia_server_testkit::harness::{TestApp, TestConfig, terms};
use pia_testkit::ManualClock;
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
        assert_eq!(page.contains("admin/groups#new\">New group</a>"), has_form, "{page}");
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

#[tokio::test(flavor = "multi_thread")]
async fn after_the_end_of_the_licence_changes_lead_administrators_to_its_renewal() {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let end = Some(clock.now() + Duration::from_mins(1));
    let config = TestConfig::on(TestDatabase::sqlite())
        .licensed(Some(Terms { expires_at: end, ..terms() }))
        .at(Arc::<ManualClock>::clone(&clock));
    let app = start_with_admin(config).await;
    app.admin("group set default credits.daily=1234").await.expect("a limit");
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let body = form(&[("csrfToken", &ada.csrf_token().await), ("name", "Sales")]);
    clock.advance(Duration::from_mins(2));

    let groups = ada.get("/admin/groups").await.text();
    let licence = ada.get("/admin/licence").await.text();
    let default_group = ada.get("/admin/groups/00000000-0000-7000-8000-000000000001").await.text();
    let first_steps = ada.get("/admin/first-steps").await.text();
    let setting = ada.get("/admin/settings/LocalAuth:Registration").await.text();
    let profile = ada.get("/account").await.text();
    let group = ada.post("/admin/groups", &[], &body).await;
    let name = ada.post("/account/name", &[], &body).await;

    let sentence =
        "<p>The licence has expired. Data can still be read; renew it to make changes.</p>";
    for (page, link) in [
        (&groups, "<a href=\"../admin/licence\">Renew the licence</a>"),
        (&default_group, "<a href=\"../../admin/licence\">Renew the licence</a>"),
        (&setting, "<a href=\"../../admin/licence\">Renew the licence</a>"),
        (&profile, "<a href=\"admin/licence\">Renew the licence</a>"),
    ] {
        assert!(page.contains(link), "{page}");
        assert_eq!(page.matches(sentence).count(), 1, "{page}");
    }
    assert!(!groups.contains("id=\"new\""), "{groups}");
    for fact in ["<dt>Client policy</dt>", "1,234", "id=\"members\"", "id=\"published\""] {
        assert!(default_group.contains(fact), "{fact}: {default_group}");
    }
    assert!(licence.contains(">Included</span>"), "{licence}");
    assert!(!licence.contains("badge good"), "{licence}");
    let (_, licence_step) = first_steps.split_once("first-steps#licence").expect("a step");
    let (licence_step, _) = licence_step.split_once("</tr>").expect("its row");
    assert!(licence_step.contains("Needs attention"), "{licence_step}");
    let has_form = |page: &str, path: &str| {
        PageParts::parse(page).forms.iter().any(|it| it.action.ends_with(path))
    };
    assert!(!has_form(&groups, "admin/groups"), "{groups}");
    assert!(has_form(&licence, "admin/licence"), "{licence}");
    for (page, leads_to_renewal) in [(group, true), (name, false)] {
        assert_eq!(page.status, 403, "{}", page.text());
        assert!(page.text().contains("<h1>The licence has expired</h1>"), "{}", page.text());
        let link = page.text().contains("href=\"../admin/licence\">Renew the licence</a>");
        assert_eq!(link, leads_to_renewal, "{}", page.text());
    }
}
