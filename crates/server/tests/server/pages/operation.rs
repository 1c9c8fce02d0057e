//! Pages with which administrators operate the server: models, emails, maintenance, the
//! licence, and the limits and waits of members.

use std::sync::Arc;
use std::time::Duration;

use pia_demo_upstream::Demo;
use pia_identity::Role;
use pia_kernel::{Clock as _, QueuedEmail, SystemClock, UserId};
use pia_policy::Terms;
use pia_server_testkit::client::TestResponse;
use pia_server_testkit::harness::{TestApp, TestConfig, licence, terms};
use pia_server_testkit::on_both_databases;
use pia_server_testkit::polling::until;
use pia_server_testkit::relay::FakeRelay;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::form;
use super::visitor::{ADA, Visitor, sign_up_with_role, start_with_admin};

on_both_databases!(
    models_are_listed_and_searched,
    a_model_is_tested,
    a_waiting_email_is_listed_without_its_link,
    a_waiting_email_is_retried_and_discarded,
    a_failed_email_has_the_current_address_of_its_account,
    a_test_email_reaches_the_administrator,
    the_last_runs_of_maintenance_are_listed,
    errors_of_operators_and_tokens_are_at_their_fields,
    a_licence_in_force_is_replaced,
    a_wait_after_wrong_passwords_is_displayed_until_it_ends,
    members_who_used_most_are_listed_for_those_who_manage_the_group,
);

/// Number of characters of an id in a link.
const UUID_CHARS: usize = 36;

const BOB: &str = "bob@example.org";

/// Path of the group of everyone who is in no other.
const DEFAULT_GROUP_PATH: &str = "/admin/groups/00000000-0000-7000-8000-000000000001";

/// End of a link to the model that answers. The quote tells it from [`UNREACHABLE_MODEL`].
const DEMO_LINK: &str = "admin/models/Ai\"";

/// Page of the model that cannot be reached.
const UNREACHABLE_MODEL: &str = "admin/models/Ai:Providers:vendor%2Fsmall%202";

/// Starts a server with a model that answers and one that cannot be reached.
async fn start_with_models(database: TestDatabase, endpoint: &str) -> TestApp {
    let config = TestConfig::on(database)
        .with_upstream(endpoint)
        .with("Ai__Providers__0__Id", "vendor/small 2")
        .with("Ai__Providers__0__ProviderType", "OpenAICompatible")
        .with("Ai__Providers__0__Endpoint", "http://127.0.0.1:9")
        .with("Ai__Providers__0__Model", "small");
    start_with_admin(config).await
}

async fn models_are_listed_and_searched(database: TestDatabase) {
    let demo = Demo::start(0).expect("an upstream");
    let app = start_with_models(database, &demo.endpoint()).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    let list = ada.get("/admin/models").await.text();
    let search = ada.get("/admin/models?search=SMALL&sort=-price").await.text();

    for text in ["Not called yet", UNREACHABLE_MODEL, DEMO_LINK] {
        assert!(list.contains(text), "{text}: {list}");
    }

    assert!(search.contains(UNREACHABLE_MODEL), "{search}");
    assert!(!search.contains(DEMO_LINK), "{search}");
    // The link of the sorted column reverses the order.
    assert!(search.contains("aria-sort=\"descending\"><a href=\"?search=SMALL&#38;sort=price\">"));
}

async fn a_model_is_tested(database: TestDatabase) {
    let demo = Demo::start(0).expect("an upstream");
    let app = start_with_models(database, &demo.endpoint()).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let unreachable_path = format!("/{UNREACHABLE_MODEL}");

    let demo_test = ada.submit("/admin/models/Ai/test").await;
    let unreachable_page = ada.get(&unreachable_path).await;
    let unreachable_test = ada.submit(&format!("{unreachable_path}/test")).await;

    assert_eq!(demo_test.status, 200);
    assert!(demo_test.text().contains("Demo answer to"), "{}", demo_test.text());
    assert_eq!(demo.call_counts().calls, 1);

    assert_eq!(unreachable_page.status, 200, "{}", unreachable_page.text());
    let unreachable_text = unreachable_test.text();
    assert!(unreachable_text.contains("Provider not reachable"), "{unreachable_text}");
    assert!(!unreachable_text.contains("127.0.0.1:9"), "{unreachable_text}");

    let audit = ada.get("/admin/audit?action=Model.Tested").await.text();
    assert!(audit.contains(DEMO_LINK), "{audit}");
    assert!(audit.contains(&format!("{UNREACHABLE_MODEL}\"")), "{audit}");
}

/// Returns an email with a secret link, which no page may contain.
fn invitation() -> QueuedEmail {
    QueuedEmail::new("invitation").with("link", "https://pia.example/canary")
}

/// Starts a server with an email to Eve whose first delivery has failed.
async fn start_with_waiting_email(database: TestDatabase) -> TestApp {
    let app = start_with_admin(TestConfig::on(database).with_mail()).await;
    app.queue(invitation().to_address(SystemClock.now(), "eve@example.org")).await;
    until(async || {
        let emails = app.mails().await;
        emails.iter().all(|it| it.failure.is_some()).then_some(())
    })
    .await;
    app
}

/// Returns the first id that follows `prefix` in a page.
fn first_id<'a>(page: &'a str, prefix: &str) -> &'a str {
    page.split(prefix)
        .skip(1)
        .filter_map(|it| it.get(..UUID_CHARS))
        .find(|it| uuid::Uuid::try_parse(it).is_ok())
        .expect("an id")
}

async fn a_waiting_email_is_listed_without_its_link(database: TestDatabase) {
    let app = start_with_waiting_email(database).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    let list = ada.get("/admin/mail?state=postponed").await.text();
    let id = first_id(&list, "admin/mail/");
    let page = ada.get(&format!("/admin/mail/{id}")).await.text();
    let german_page = ada.get(&format!("/admin/mail/{id}?lang=de")).await.text();

    for text in [&list, &page] {
        assert!(text.contains("eve@example.org"), "{text}");
        assert!(text.contains("Invitation"), "{text}");
        assert!(!text.contains("canary"), "{text}");
    }
    assert!(german_page.contains("Gemeldeter Grund, auf Englisch:"), "{german_page}");
    assert!(german_page.contains("<span class=\"detail\" lang=\"en\">"), "{german_page}");
}

async fn a_waiting_email_is_retried_and_discarded(database: TestDatabase) {
    let app = start_with_waiting_email(database).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let list = ada.get("/admin/mail?state=postponed").await.text();
    let id = first_id(&list, "admin/mail/");

    let retry = ada.submit(&format!("/admin/mail/{id}/retry")).await;
    let discard_status = until(async || {
        let discard = ada.submit(&format!("/admin/mail/{id}/discard")).await;
        // The retry made the email due: a conflict means that it is being delivered.
        (discard.status != 409).then_some(discard.status)
    })
    .await;

    assert_eq!(retry.status, 303, "{}", retry.text());
    assert_eq!(discard_status, 303);
    assert!(app.mails().await.iter().all(|it| it.template != "invitation"));

    let audit = ada.get("/admin/audit?action=Mail.Discarded").await.text();
    assert!(audit.contains("<option value=\"Mail.Discarded\" selected"), "{audit}");
    let entry = first_id(&audit, "admin/audit/");
    let entry_page = ada.get(&format!("/admin/audit/{entry}")).await.text();
    for text in [format!("mail:{id}"), "invitation".to_owned(), ADA.to_owned()] {
        assert!(entry_page.contains(&text), "{text}: {entry_page}");
    }
    assert_eq!(ada.get(&format!("/admin/audit/{id}")).await.status, 404);
}

async fn a_failed_email_has_the_current_address_of_its_account(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database).with_mail()).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let bob = app.sign_up(BOB).await.user.expect("an id");
    let bob_id = UserId(uuid::Uuid::try_parse(&bob).expect("an id"));
    app.queue(invitation().to_user(SystemClock.now(), bob_id)).await;

    app.execute("UPDATE accounts SET email = 'robert@example.org' WHERE email = 'bob@example.org'")
        .await;
    let waiting_list = ada.get("/admin/mail").await.text();
    app.execute("UPDATE mails SET failed_at = queued_at, sealed = NULL, failure = 'refused'").await;
    let failed_list = ada.get("/admin/mail?state=failed").await.text();

    assert!(waiting_list.contains(BOB), "{waiting_list}");
    assert!(!waiting_list.contains("Current address of the account"), "{waiting_list}");
    assert!(failed_list.contains("robert@example.org"), "{failed_list}");
    assert!(failed_list.contains("Current address of the account"), "{failed_list}");
}

async fn a_test_email_reaches_the_administrator(database: TestDatabase) {
    let relay = FakeRelay::start().await;
    let app = start_with_admin(TestConfig::on(database).with_relay(&relay)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    let response = ada.submit("/admin/mail/test").await;
    let recipients = until(async || {
        let mail = relay.next_mail().await;
        (mail.subject() == "Test email from this server").then_some(mail.to)
    })
    .await;

    assert_eq!(response.status, 303);
    assert_eq!(recipients, [ADA.to_owned()]);
}

async fn the_last_runs_of_maintenance_are_listed(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    let page = until(async || {
        let page = ada.get("/admin/jobs").await.text();
        (!page.contains("Not run yet") && !page.contains("Running")).then_some(page)
    })
    .await;

    assert!(page.contains("Completed") && !page.contains("Failed"), "{page}");
}

/// Returns a form that creates an operator or a token, with this value in one field.
fn creation_form(csrf_token: &str, name: &str, value: &str) -> String {
    form(&[
        ("csrfToken", csrf_token),
        // The first value of a name counts.
        (name, value),
        ("name", "Brief"),
        ("skillName", "brief-2"),
        ("title1", "Read"),
        ("instructions1", "Read."),
    ])
}

/// Asserts that a form was refused: its page links to the control, which it marks as invalid.
fn assert_marked(response: &TestResponse, control_id: &str) {
    let text = response.text();
    assert_eq!(response.status, 400, "{control_id}: {text}");
    assert!(text.contains("<p id=\"problem\">Check the marked fields."), "{control_id}: {text}");
    assert!(text.contains(&format!("<a href=\"#{control_id}\">")), "{control_id}: {text}");

    let control = text.split(&format!(" id=\"{control_id}\"")).nth(1).expect("a control");
    let attributes = control.split('>').next().unwrap_or_default();
    assert!(attributes.contains("aria-invalid=\"true\""), "{control_id}: {attributes}");
}

async fn errors_of_operators_and_tokens_are_at_their_fields(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let csrf_token = ada.csrf_token().await;

    for (name, value) in [
        ("name", ""),
        ("skillName", "two words"),
        ("title1", ""),
        ("instructions1", ""),
        ("maxOutput1", "0"),
    ] {
        let body = creation_form(&csrf_token, name, value);
        let page = ada.post("/admin/operators", &[], &body).await;
        assert_marked(&page, &format!("new-{name}"));
    }

    let operator = creation_form(&csrf_token, "mode", "Assistant");
    let created = ada.post("/admin/operators", &[], &operator).await;
    let location = created.header("location").expect("a page").trim_start_matches("..");
    let operator_path = location.split('?').next().expect("a path");
    let private_url = creation_form(&csrf_token, "url", "http://10.0.0.1/");
    let webhook_page = ada.post(&format!("{operator_path}/webhook"), &[], &private_url).await;
    assert_marked(&webhook_page, "webhook-url");

    let unknown_scope = creation_form(&csrf_token, "scopes", "none");
    let token_page = ada.post("/admin/scim", &[], &unknown_scope).await;
    assert_marked(&token_page, "new-scopes-1");
}

async fn a_licence_in_force_is_replaced(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;
    let submit_licence = async |text: &str| {
        let body = form(&[("csrfToken", &token), ("license", text)]);
        ada.post("/admin/licence?lang=de", &[], &body).await
    };
    let another_licence = licence(&Terms { licensee: "Another company".to_owned(), ..terms() });

    let refusal = submit_licence("nonsense").await;
    let replacement = submit_licence(&another_licence).await;
    let page = ada.get("/admin/licence").await.text();
    let licence_file = std::fs::read_to_string(app.dir.join("license.lic")).expect("a file");

    let refusal_text = refusal.text();
    assert_eq!(refusal.status, 400);
    assert!(refusal_text.contains("keine Lizenz"), "{refusal_text}");
    assert!(refusal_text.contains("A test"), "the licence in force: {refusal_text}");
    assert!(!refusal_text.contains("hreflang"), "a form's answer cannot be opened again");

    assert_eq!(replacement.status, 303, "{}", replacement.text());
    assert!(page.contains("hreflang"), "{page}");
    assert!(page.contains("Another company") && !page.contains("A test"), "{page}");
    assert_eq!(licence_file, format!("{}\n", another_licence.trim_end()));
    assert_eq!(app.count("audit_entries WHERE action = 'Licence.Replaced'").await, 1);
}

/// Adds accounts whose addresses contain Ada's, more than a search lists on one page.
async fn add_accounts_with_longer_addresses(app: &TestApp) {
    app.execute(
        "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 300)
         INSERT INTO accounts (id, email, email_folded, provider, customer_type, created_at)
             SELECT randomblob(16), n || email, n || email_folded, provider, customer_type,
                 created_at + n FROM accounts, numbers",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_is_searched_by_an_exact_address() {
    let app = start_with_admin(TestConfig::on(TestDatabase::sqlite())).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    add_accounts_with_longer_addresses(&app).await;
    let search = async |address: &str| {
        let query = form(&[("user", address), ("action", "role.admin_granted")]);
        ada.get(&format!("/admin/audit?{query}")).await.text()
    };

    let exact_page = search(" Ada@Example.org ").await;
    let partial_page = search("da@example.org").await;
    let malformed_page = search("ada\0@example.org").await;

    assert!(exact_page.contains(">Role assigned: administrator</a>"), "{exact_page}");
    for page in [&partial_page, &malformed_page] {
        assert!(page.contains("No account has this address."), "{page}");
    }
}

/// Tries wrong passwords until the server delays the next attempt.
async fn guess_passwords(app: &TestApp, email: &str) {
    const GUESSES: usize = 5;
    let credentials = json!({ "email": email, "password": "a wrong password" });
    for _ in 0..GUESSES {
        app.anonymous().post("/auth/login/local", &credentials).await;
    }
}

/// Returns true if the page of a user displays a wait, with the button that ends it.
async fn displays_wait(admin: &Visitor<'_>, user_path: &str) -> bool {
    let page = admin.get(user_path).await.text();
    let has_wait = page.contains("Next attempt possible");
    assert_eq!(page.contains("/lift-wait"), has_wait, "{page}");
    has_wait
}

async fn a_wait_after_wrong_passwords_is_displayed_until_it_ends(database: TestDatabase) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let config = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock));
    let app = start_with_admin(config).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let bob = app.sign_up(BOB).await.user.expect("an id");
    let path = format!("/admin/users/{bob}");
    assert!(!displays_wait(&ada, &path).await);

    guess_passwords(&app, BOB).await;
    assert!(displays_wait(&ada, &path).await);

    let response = ada.submit(&format!("{path}/lift-wait")).await;
    assert_eq!(response.status, 303, "{}", response.text());
    assert!(!displays_wait(&ada, &path).await, "an administrator ended it");

    guess_passwords(&app, BOB).await;
    assert!(displays_wait(&ada, &path).await);

    clock.advance(Duration::from_secs(1));
    assert!(!displays_wait(&ada, &path).await, "its time is over");
}

/// Records that Ada has used 42 credits of today's budget, in millionths, and that all
/// accounts have used a model today.
async fn record_usage(app: &TestApp) {
    let now_seconds = SystemClock.now().micros() / 1_000_000;
    let quarter_hour = now_seconds / (15 * 60);
    let today = now_seconds / (24 * 60 * 60);
    app.execute(&format!(
        "INSERT INTO credit_windows (key, kind, owner_id, user_id, total, used, reserved, \
             last_used, buckets) \
         SELECT 'ada:daily', 'daily', id, id, 0, 42000000, 0, 0, '{quarter_hour}:42000000' \
             FROM accounts WHERE email = '{ADA}'"
    ))
    .await;
    app.execute(&format!("INSERT INTO usage_users SELECT id, {today} FROM accounts")).await;
}

async fn members_who_used_most_are_listed_for_those_who_manage_the_group(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let manager_address = sign_up_with_role(&app, Role::OrgManager).await;
    let manager = Visitor::sign_in(&app, "admin", &manager_address).await;
    app.admin("group set default credits.daily=100 credits.weekly=100").await.expect("limits");

    let page_before_usage = ada.get(DEFAULT_GROUP_PATH).await.text();
    record_usage(&app).await;
    let page = ada.get(DEFAULT_GROUP_PATH).await.text();
    let manager_response = manager.get(DEFAULT_GROUP_PATH).await;

    let no_usage = "No member has used any of their credits in the current periods.";
    assert!(page_before_usage.contains(no_usage), "{page_before_usage}");
    assert!(!page_before_usage.contains("<section id=\"daily\""), "{page_before_usage}");
    assert!(page.contains("<section id=\"daily\"") && !page.contains(no_usage), "{page}");
    assert!(!page.contains("<section id=\"weekly\""), "{page}");
    assert!(page.contains("The members who have used most of this budget"), "{page}");
    assert!(page.contains("admin/audit?action=Group.ToppedUp"), "{page}");

    let manager_page = manager_response.text();
    assert_eq!(manager_response.status, 200, "{manager_page}");
    for text in [&page, &manager_page] {
        assert!(text.contains(">42</td>"), "{text}");
        assert!(text.contains(">42%</td>"), "{text}");
    }
    for path in ["admin/users/", "admin/audit", "admin/personas/"] {
        assert!(!manager_page.contains(path), "{path}: {manager_page}");
    }
}
