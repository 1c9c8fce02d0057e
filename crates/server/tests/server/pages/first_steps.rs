//! Tests of the first steps after the installation.

use pia_demo_upstream::Demo;
use pia_policy::{Feature, Terms};
use pia_server_testkit::client::TestResponse;
use pia_server_testkit::harness::{TestConfig, terms};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::signed_in::{ADA, Visitor, start_with_admin};
use super::{form, open};

on_both_databases!(
    the_steps_are_done_one_after_the_other,
    a_provider_and_a_password_of_a_relay_are_stored_encrypted,
    a_step_is_done_by_whoever_set_it,
    features_without_a_licence_are_no_steps,
);

const PAGE: &str = "/admin/first-steps";

async fn send(ada: &Visitor<'_>, path: &str, fields: &[(&str, &str)]) -> TestResponse {
    let token = ada.csrf_token().await;
    let fields = [&[("csrfToken", token.as_str())], fields].concat();
    ada.post(&format!("{PAGE}/{path}"), &[], &form(&fields)).await
}

/// Returns the states of the steps in the list.
async fn states(ada: &Visitor<'_>) -> Vec<String> {
    let page = ada.get(PAGE).await.text();
    let (_, list) = page.split_once("<tbody role=\"rowgroup\">").expect("a list");
    let (list, _) = list.split_once("</tbody>").expect("its end");
    list.split("badge")
        .skip(1)
        .filter_map(|it| it.split(['>', '<']).nth(1))
        .map(str::to_owned)
        .collect()
}

async fn the_steps_are_done_one_after_the_other(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let anonymous = open(&app, "/admin/setup").await;
    let continued = ada.get("/admin/setup").await;

    let first = states(&ada).await;
    let overview = ada.get("/admin").await.text();
    let invalid = [("host", "mail.example"), ("from", "nobody"), ("security", "tls")];
    let invalid_in_german = send(&ada, "email?lang=de", &invalid).await.text();
    let invalid = send(&ada, "email", &invalid).await;
    let overridden = app.count("setting_overrides").await;
    let email = [("host", "127.0.0.1"), ("from", "pia@example.org"), ("security", "none")];
    let email = send(&ada, "email", &email).await;
    let test_email = send(&ada, "test-email", &[]).await;
    let registration = send(&ada, "registration", &[("policy", "invitation")]).await;
    let unnamed = send(&ada, "group", &[("name", "")]).await;
    let group = send(&ada, "group", &[("name", "Engineering")]).await;
    let page = ada.get(PAGE).await.text();

    assert!(anonymous.text().contains("href=\"first-steps\""), "{}", anonymous.text());
    assert_eq!(continued.header("location"), Some("../admin/first-steps"));
    let done = "Done";
    let open = "To do";
    let free = "Optional";
    assert_eq!(first, [done, open, open, free, open, open, free]);
    assert!(overview.contains("4 steps left to do"), "{overview}");
    assert_eq!(invalid.status, 400, "{}", invalid.text());
    let quoted = "<p id=\"problem\">Prüfen Sie diese Angabe. <span lang=\"en\">";
    assert!(invalid_in_german.contains(quoted), "{invalid_in_german}");
    assert_eq!(unnamed.status, 400);
    assert_eq!(overridden, 0, "a part was set");
    assert!(invalid.text().contains("value=\"nobody\""), "{}", invalid.text());
    for answer in [email, test_email, registration, group] {
        assert_eq!(answer.status, 303, "{}", answer.text());
    }
    assert_eq!(states(&ada).await, [done, open, open, done, open, done, done]);
    assert!(ada.get("/admin").await.text().contains("3 steps left to do"));
    assert!(page.contains("127.0.0.1") && page.contains("Source: Console"), "{page}");
    assert!(page.contains(&format!("Source: Console · {ADA} · ")), "{page}");
    assert!(page.contains("Server__PublicUrl=https://"), "{page}");
    assert!(page.contains("Not set") && page.contains("Ai:Providers"), "{page}");
    let german = ada.get(&format!("{PAGE}?lang=de")).await.text();
    assert!(german.contains("Zu erledigen") && german.contains("Auf Einladung"), "{german}");
}

async fn a_provider_and_a_password_of_a_relay_are_stored_encrypted(database: TestDatabase) {
    let demo = Demo::start(0).expect("an upstream");
    let endpoint = demo.endpoint();
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let provider = [
        ("type", "OpenAICompatible"),
        ("model", "test-model"),
        ("endpoint", endpoint.as_str()),
        ("key", "sk-a-s3cret-key"),
    ];
    let relay = [
        ("host", "127.0.0.1"),
        ("from", "pia@example.org"),
        ("security", "none"),
        ("username", "pia"),
    ];
    let with_password = [&relay[..], &[("password", "a-s3cret-password")]].concat();

    let no_endpoint = send(&ada, "provider", &provider[..2]).await;
    let set_up = send(&ada, "provider", &provider).await;
    let tested = send(&ada, "test-call", &[("key", "Ai")]).await;
    let repeated = send(&ada, "provider", &provider).await;
    let no_password = send(&ada, "email", &relay).await;
    let email = send(&ada, "email", &with_password).await;

    assert_eq!(no_endpoint.status, 400, "{}", no_endpoint.text());
    assert!(no_endpoint.text().contains("value=\"test-model\""), "{}", no_endpoint.text());
    assert_eq!(no_password.status, 400, "{}", no_password.text());
    for answer in [set_up, repeated, email] {
        assert_eq!(answer.status, 303, "{}", answer.text());
    }
    assert!(tested.text().contains("Demo answer to"), "{}", tested.text());
    let pages = [PAGE, "/admin/settings/Ai:ApiKey", "/admin/settings", "/admin/audit"];
    for page in pages {
        let page = ada.get(page).await;
        assert_eq!(page.status, 200);
        assert!(!page.text().contains("s3cret"), "{}", page.text());
    }
    assert_eq!(app.count("setting_overrides WHERE value = '' AND sealed IS NOT NULL").await, 2);
    let done = "Done";
    assert_eq!(states(&ada).await[3..5], [done, done]);
}

async fn a_step_is_done_by_whoever_set_it(database: TestDatabase) {
    let demo = Demo::start(0).expect("an upstream");
    let config = TestConfig::on(database).with_upstream(&demo.endpoint()).with_mail();
    let config = config
        .with("Server__PublicUrl", "https://pia.example")
        .with("LocalAuth__Registration", "closed");
    let app = start_with_admin(config.with("LocalAuth__Registration", "open")).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    let tested = send(&ada, "test-call", &[("key", "Ai")]).await;
    let unknown = send(&ada, "test-call", &[("key", "other")]).await;

    let done = "Done";
    let open = "To do";
    let free = "Optional";
    assert_eq!(states(&ada).await, [done, open, done, done, done, done, free]);
    assert_eq!(tested.status, 200);
    assert_eq!(unknown.status, 404);
    let page = tested.text();
    assert!(page.contains("Demo answer to") && page.contains("First steps</h1>"), "{page}");
    assert!(page.contains("https://pia.example<") && page.contains("Source: Environment"));
    assert!(page.contains("API key") && page.contains("Set, not displayed"), "{page}");
    assert!(page.contains("Open to everyone"), "{page}");
    assert!(!page.contains("first-steps/registration"), "{page}");
}

async fn features_without_a_licence_are_no_steps(database: TestDatabase) {
    let without = Terms { features: Some([Feature::Sync].into()), ..terms() };
    let app = start_with_admin(TestConfig::on(database).licensed(Some(without))).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    let none = "Not in your licence";
    let found = states(&ada).await;
    let call = send(&ada, "test-call", &[("key", "Ai")]).await;

    assert_eq!([&found[4], &found[6]], [none, none]);
    assert_eq!(call.status, 403, "{}", call.text());
}
