//! Tests of forms that ask for a proof of ownership.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::client::TestResponse;
use pia_server_testkit::harness::{PASSWORD, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;

use super::form;
use super::html::PageParts;
use super::signed_in::{ADA, Visitor, start_with_admin};

on_both_databases!(a_form_is_sent_again_with_the_proof_that_it_needs);

/// Age of a sign-in after which a proof is needed.
const STALE: Duration = Duration::from_secs(601);

/// Returns a clock that a server and its test share.
fn manual_clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(SystemClock.now()))
}

async fn send(ada: &Visitor<'_>, path: &str, fields: &[(&str, &str)]) -> TestResponse {
    let token = ada.csrf_token().await;
    let fields = [&[("csrfToken", token.as_str())], fields].concat();
    ada.post(path, &[], &form(&fields)).await
}

/// Returns whether a form was answered by the page that asks for a proof.
fn asks(answer: &TestResponse) -> bool {
    answer.status == 403 && answer.text().contains("<section id=\"owner\"")
}

async fn a_form_is_sent_again_with_the_proof_that_it_needs(database: TestDatabase) {
    const PATH: &str = "/admin/settings/LocalAuth:Registration/change";
    let clock = manual_clock();
    let config = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock));
    let app = start_with_admin(config).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    clock.advance(STALE);

    let asked = send(&ada, PATH, &[("value", "closed")]).await;
    let wrong = send(&ada, PATH, &[("value", "closed"), ("proof", "not my password")]).await;
    let unchanged = app.count("setting_overrides").await;
    let again = PageParts::parse(&asked.text())
        .forms
        .into_iter()
        .find(|page_form| page_form.fields.iter().any(|it| it.0 == "proof"))
        .expect("a form with the proof");
    let fields: Vec<_> = again
        .fields
        .iter()
        .map(|(name, _, value)| (name.as_str(), value.as_str()))
        .map(|(name, value)| (name, if name == "proof" { PASSWORD } else { value }))
        .collect();
    let changed = ada.post(PATH, &[], &form(&fields)).await;

    assert!(asks(&asked), "{}: {}", asked.status, asked.text());
    assert!(asks(&wrong), "{}: {}", wrong.status, wrong.text());
    assert!(wrong.text().contains("The password or code is wrong"), "{}", wrong.text());
    assert!(!wrong.text().contains("not my password"), "{}", wrong.text());
    assert_eq!(unchanged, 0);
    assert!(PATH.ends_with(again.action.trim_start_matches("../")), "{}", again.action);
    assert_eq!(changed.status, 303, "{}", changed.text());
    assert_eq!(app.count("setting_overrides WHERE value LIKE '%closed%'").await, 1);
}
