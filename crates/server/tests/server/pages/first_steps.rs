//! Tests of the first steps after the installation.

use pia_demo_upstream::Demo;
use pia_kernel::{Clock as _, QueuedEmail, SystemClock};
use pia_policy::{Feature, Terms};
use pia_server_testkit::client::TestResponse;
use pia_server_testkit::harness::{TestConfig, terms};
use pia_server_testkit::on_both_databases;
use pia_server_testkit::polling::until;
use pia_server_testkit::relay::{FakeRelay, RelayBehaviour};
use pia_testkit::databases::TestDatabase;

use super::visitor::{ADA, Visitor, start_with_admin};
use super::{form, open};

on_both_databases!(
    the_steps_are_done_one_after_the_other,
    a_provider_and_a_password_of_a_relay_are_stored_encrypted,
    a_step_is_refused_without_its_required_fields,
    a_step_whose_test_failed_needs_attention_and_is_corrected,
    a_test_email_is_displayed_until_it_is_sent,
    email_needs_attention_while_any_is_retried,
    a_step_is_done_by_whoever_set_it,
    features_without_a_licence_are_no_steps,
);

const PAGE: &str = "/admin/first-steps";
/// States of steps.
const DONE: &str = "Done";
const OPEN: &str = "To do";
const OPTIONAL: &str = "Optional";
const ATTENTION: &str = "Needs attention";
const NOT_LICENSED: &str = "Not in your licence";

async fn send(ada: &Visitor<'_>, path: &str, fields: &[(&str, &str)]) -> TestResponse {
    let token = ada.csrf_token().await;
    let fields = [&[("csrfToken", token.as_str())], fields].concat();
    ada.post(&format!("{PAGE}/{path}"), &[], &form(&fields)).await
}

/// Returns the states of the steps in the list.
async fn states(ada: &Visitor<'_>) -> Vec<String> {
    let page = ada.get(PAGE).await.text();
    let (_, list_start) = page.split_once("<tbody role=\"rowgroup\">").expect("a list");
    let (list, _) = list_start.split_once("</tbody>").expect("its end");
    list.split("badge")
        .skip(1)
        .filter_map(|it| it.split(['>', '<']).nth(1))
        .map(str::to_owned)
        .collect()
}

async fn the_steps_are_done_one_after_the_other(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let invalid_relay = [("host", "mail.example"), ("from", "nobody"), ("security", "tls")];
    let relay = [("host", "127.0.0.1"), ("from", "pia@example.org"), ("security", "none")];

    let setup_page = open(&app, "/admin/setup").await;
    let setup_answer = ada.get("/admin/setup").await;
    let states_before = states(&ada).await;
    let overview = ada.get("/admin").await.text();
    let german_refusal = send(&ada, "email?lang=de", &invalid_relay).await.text();
    let refusal = send(&ada, "email", &invalid_relay).await;
    let override_count = app.count("setting_overrides").await;
    let email = send(&ada, "email", &relay).await;
    let registration = send(&ada, "registration", &[("policy", "invitation")]).await;
    let unnamed_group = send(&ada, "group", &[("name", "")]).await;
    let group = send(&ada, "group", &[("name", "Engineering")]).await;
    let page = ada.get(PAGE).await.text();

    assert!(setup_page.text().contains("href=\"first-steps\""), "{}", setup_page.text());
    assert_eq!(setup_answer.header("location"), Some("../admin/first-steps"));
    assert_eq!(states_before, [DONE, OPEN, OPEN, OPTIONAL, OPEN, OPEN, OPTIONAL]);
    assert!(overview.contains("4 steps left to do"), "{overview}");
    assert_eq!(refusal.status, 400, "{}", refusal.text());
    assert!(refusal.text().contains("value=\"nobody\""), "{}", refusal.text());
    let german_error = ">Absenderadresse: Geben Sie eine E-Mail-Adresse wie pia@example.com ein.";
    assert!(german_refusal.contains(german_error), "{german_refusal}");
    assert_eq!(override_count, 0, "a part was set");
    assert_eq!(unnamed_group.status, 400);
    for answer in [email, registration, group] {
        assert_eq!(answer.status, 303, "{}", answer.text());
    }
    assert_eq!(states(&ada).await, [DONE, OPEN, OPEN, DONE, OPEN, DONE, DONE]);
    assert!(ada.get("/admin").await.text().contains("3 steps left to do"));
    assert!(page.contains("127.0.0.1") && page.contains("Source: Console"), "{page}");
    let source = format!("Source: Console · {ADA} · ");
    let email_facts = section(&ada, "email").await;
    assert_eq!(email_facts.matches(&source).count(), 1, "{email_facts}");
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

    let type_and_model = &provider[..2];
    let no_endpoint = send(&ada, "provider", type_and_model).await;
    let provider_answer = send(&ada, "provider", &provider).await;
    let test_call = send(&ada, "test-call", &[("key", "Ai")]).await;
    let second_provider_answer = send(&ada, "provider", &provider).await;
    let no_password = send(&ada, "email", &relay).await;
    let email = send(&ada, "email", &with_password).await;

    assert_eq!(no_endpoint.status, 400, "{}", no_endpoint.text());
    assert!(no_endpoint.text().contains("value=\"test-model\""), "{}", no_endpoint.text());
    assert_eq!(no_password.status, 400, "{}", no_password.text());
    for answer in [provider_answer, second_provider_answer, email] {
        assert_eq!(answer.status, 303, "{}", answer.text());
    }
    assert!(test_call.text().contains("Demo answer to"), "{}", test_call.text());
    for path in [PAGE, "/admin/settings/Ai:ApiKey", "/admin/settings?area=models", "/admin/audit"] {
        let page = ada.get(path).await;
        assert_eq!(page.status, 200);
        assert!(!page.text().contains("s3cret"), "{}", page.text());
    }
    assert_eq!(app.count("setting_overrides WHERE value = '' AND sealed IS NOT NULL").await, 2);
    // Email and the provider.
    assert_eq!(states(&ada).await[3..5], [DONE, DONE]);
    let page = ada.get(PAGE).await.text();
    for fact in ["Encryption", "Base URL", "settings?area=email", "settings?area=models"] {
        assert!(page.contains(fact), "{fact}: {page}");
    }
}

async fn a_step_is_refused_without_its_required_fields(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let relay = [
        ("host", " "),
        ("from", "pia@example.org"),
        ("security", "none"),
        ("username", "pia"),
        ("password", "a-s3cret-password"),
    ];
    let model = [("type", "OpenAI"), ("model", ""), ("key", "sk-a-s3cret-key")];

    for (path, fields, name) in [
        ("email", &relay[..], "host"),
        ("provider", &model, "model"),
        ("registration", &[], "policy"),
    ] {
        let answer = send(&ada, path, fields).await;
        let page = answer.text();

        assert_eq!(answer.status, 400, "{path}: {page}");
        assert!(page.contains("Fill in this field."), "{path}: {page}");
        assert!(page.contains(&format!("<a href=\"#{path}-{name}\">")), "{path}: {page}");
        let from = "value=\"pia@example.org\"";
        assert!(path != "email" || page.contains(from), "{page}");
    }
    assert_eq!(app.count("setting_overrides").await, 0);
}

/// Returns the section of a step.
async fn section(ada: &Visitor<'_>, id: &str) -> String {
    let page = ada.get(PAGE).await.text();
    let (_, start) = page.split_once(&format!("<section id=\"{id}\"")).expect("a section");
    start.split("</section>").next().expect("its text").to_owned()
}

fn provider(endpoint: &str) -> [(&str, &str); 3] {
    [("type", "OpenAICompatible"), ("model", "m"), ("endpoint", endpoint)]
}

async fn a_step_whose_test_failed_needs_attention_and_is_corrected(database: TestDatabase) {
    let demo = Demo::start(0).expect("an upstream");
    let endpoint = demo.endpoint();
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let key = [("key", "sk-a-s3cret-key")];
    let relay = [("host", "localhost"), ("from", "pia@example.org"), ("security", "none")];

    let dead = [&provider("http://127.0.0.1:9/v1")[..], &key].concat();
    let providers = section(&ada, "provider").await;
    send(&ada, "provider", &dead).await;
    let failed_call = send(&ada, "test-call", &[("key", "Ai")]).await.text();
    let failed_provider = section(&ada, "provider").await;
    let correction = send(&ada, "provider", &provider(&endpoint)).await;
    let call = send(&ada, "test-call", &[("key", "Ai")]).await.text();
    let provider_state = states(&ada).await[4].clone();

    // No relay listens there.
    send(&ada, "email", &[&relay[..], &[("port", "9")]].concat()).await;
    send(&ada, "test-email", &[]).await;
    until(async || (states(&ada).await[3] == ATTENTION).then_some(())).await;
    let failed_email = section(&ada, "email").await;
    let overview = ada.get("/admin").await.text();
    // Without a port, that of the encryption.
    send(&ada, "email", &[&relay[..], &[("port", "")]].concat()).await;

    assert!(failed_call.contains(ATTENTION), "{failed_call}");
    assert!(failed_provider.contains("value=\"http://127.0.0.1:9/v1\""), "{failed_provider}");
    for option in [
        "<option value=\"OpenAICompatible\">OpenAI-compatible server</option>",
        "<option value=\"VLlm\">vLLM</option>",
    ] {
        assert!(providers.contains(option), "{option}: {providers}");
    }
    assert!(failed_provider.contains("<dd>OpenAI-compatible server</dd>"), "{failed_provider}");
    assert!(!failed_provider.contains("s3cret"), "{failed_provider}");
    assert!(failed_provider.contains("keep the one that is set"), "{failed_provider}");
    assert_eq!(correction.status, 303, "{}", correction.text());
    assert!(call.contains("Demo answer to"), "{call}");
    assert_eq!(provider_state, DONE);
    for part in ["value=\"localhost\"", "value=\"9\"", ">None</dd>"] {
        assert!(failed_email.contains(part), "{part}: {failed_email}");
    }
    assert!(failed_email.contains("Retrying"), "{failed_email}");
    assert!(overview.contains("4 steps left to do"), "{overview}");
    // The failure was that of the previous settings.
    assert_eq!(states(&ada).await[3], DONE);
    let port = ada.get("/admin/settings/Smtp:Port").await.text();
    assert!(port.contains("Not set"), "{port}");
}

async fn a_test_email_is_displayed_until_it_is_sent(database: TestDatabase) {
    let silent =
        FakeRelay::with_behaviour(RelayBehaviour { silent: true, ..RelayBehaviour::default() })
            .await;
    let config = TestConfig::on(database).with_relay(&silent).with("Smtp__Timeout", "5s");
    let app = start_with_admin(config).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    let before = section(&ada, "email").await;
    let answer = send(&ada, "test-email", &[]).await;
    let during = section(&ada, "email").await;
    until(async || (states(&ada).await[3] == ATTENTION).then_some(())).await;
    let after = section(&ada, "email").await;

    assert_eq!(answer.header("location"), Some("../../admin/first-steps?done=test-queued#email"));
    assert!(!before.contains("Last test email") && !before.contains("data-live"), "{before}");
    assert!(during.contains("Last test email") && during.contains("data-live"), "{during}");
    assert!(after.contains("did not answer") && !after.contains("data-live"), "{after}");
}

async fn email_needs_attention_while_any_is_retried(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database).with_mail()).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let email = QueuedEmail::new("invitation").with("link", "https://pia.example/canary");

    app.queue(email.to_address(SystemClock.now(), "canary@example.org")).await;
    until(async || (states(&ada).await[3] == ATTENTION).then_some(())).await;

    assert!(!section(&ada, "email").await.contains("Last test email"), "it was no test");
}

async fn a_step_is_done_by_whoever_set_it(database: TestDatabase) {
    let demo = Demo::start(0).expect("an upstream");
    let relay = FakeRelay::start().await;
    let config = TestConfig::on(database)
        .with_upstream(&demo.endpoint())
        .with_relay(&relay)
        .with("Server__PublicUrl", "https://pia.example")
        .with("LocalAuth__Registration", "closed");
    let app = start_with_admin(config.with("LocalAuth__Registration", "open")).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    let test_call = send(&ada, "test-call", &[("key", "Ai")]).await;
    let unknown_key = send(&ada, "test-call", &[("key", "other")]).await;

    assert_eq!(states(&ada).await, [DONE, OPEN, DONE, DONE, DONE, DONE, OPTIONAL]);
    assert_eq!(test_call.status, 200);
    assert_eq!(unknown_key.status, 400, "{}", unknown_key.text());
    assert!(unknown_key.text().contains("This model does not exist any more."));
    let page = test_call.text();
    assert!(page.contains("Demo answer to") && page.contains("First steps</h1>"), "{page}");
    assert!(page.contains("https://pia.example<") && page.contains("Source: Environment"));
    assert!(page.contains("API key") && page.contains("Set, not displayed"), "{page}");
    assert!(page.contains("Open to everyone"), "{page}");
    assert!(!page.contains("first-steps/registration"), "{page}");
}

async fn features_without_a_licence_are_no_steps(database: TestDatabase) {
    let sync_only = Terms { features: Some([Feature::Sync].into()), ..terms() };
    let app = start_with_admin(TestConfig::on(database).licensed(Some(sync_only))).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    let step_states = states(&ada).await;
    let test_call = send(&ada, "test-call", &[("key", "Ai")]).await;

    // The provider and groups.
    assert_eq!(step_states[4], NOT_LICENSED);
    assert_eq!(step_states[6], NOT_LICENSED);
    assert_eq!(test_call.status, 403, "{}", test_call.text());
}
