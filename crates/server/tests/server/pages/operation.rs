//! Pages with which administrators operate the server.

use std::sync::Arc;
use std::time::Duration;

use pia_demo_upstream::Demo;
use pia_kernel::{Clock as _, QueuedEmail, SystemClock, UserId};
use pia_policy::Terms;
use pia_server_testkit::harness::{TestApp, TestConfig, licence, terms};
use pia_server_testkit::on_both_databases;
use pia_server_testkit::polling::until;
use pia_server_testkit::relay::FakeRelay;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::form;
use super::visitor::{ADA, Visitor, start_with_admin};

on_both_databases!(
    models_are_listed_and_searched,
    a_model_is_tested,
    a_waiting_email_is_listed_without_its_link,
    a_waiting_email_is_retried_and_discarded,
    a_failed_email_has_the_current_address_of_its_account,
    a_test_email_reaches_the_administrator,
    the_last_runs_of_maintenance_are_listed,
    settings_are_listed_by_area_and_those_that_need_a_restart_are_explained,
    each_setting_is_described_in_both_languages,
    the_reason_of_an_invalid_setting_is_in_the_language_of_the_page,
    a_secret_setting_keeps_its_blanks_and_its_error_leads_to_the_field,
    errors_of_operators_and_tokens_are_at_their_fields,
    a_setting_that_is_no_longer_used_is_removed,
    a_licence_in_force_is_replaced,
    a_wait_after_wrong_passwords_is_displayed_until_it_ends,
    members_who_used_most_are_listed_for_those_who_manage_the_group,
);

/// Number of characters of an id in a link.
const UUID_CHARS: usize = 36;

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

    for text in ["Not called yet", "vendor%2Fsmall%202", "admin/models/Ai\""] {
        assert!(list.contains(text), "{text}: {list}");
    }
    assert!(search.contains("vendor%2Fsmall%202"), "{search}");
    assert!(!search.contains("admin/models/Ai\""), "{search}");
    assert!(search.contains("aria-sort=\"descending\"><a href=\"?search=SMALL&#38;sort=price\">"));
}

async fn a_model_is_tested(database: TestDatabase) {
    let demo = Demo::start(0).expect("an upstream");
    let app = start_with_models(database, &demo.endpoint()).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let unreachable_path = "/admin/models/Ai:Providers:vendor%2Fsmall%202";

    let demo_test = ada.submit("/admin/models/Ai/test").await;
    let unreachable_page = ada.get(unreachable_path).await;
    let unreachable_test = ada.submit(&format!("{unreachable_path}/test")).await;

    assert_eq!(demo_test.status, 200);
    assert!(demo_test.text().contains("Demo answer to"), "{}", demo_test.text());
    assert_eq!(demo.call_counts().calls, 1);
    assert_eq!(unreachable_page.status, 200, "{}", unreachable_page.text());
    let unreachable_text = unreachable_test.text();
    assert!(unreachable_text.contains("Provider not reachable"), "{unreachable_text}");
    assert!(!unreachable_text.contains("127.0.0.1:9"), "{unreachable_text}");

    let audit = ada.get("/admin/audit?action=Model.Tested").await.text();
    for link in ["admin/models/Ai\"", "admin/models/Ai:Providers:vendor%2Fsmall%202\""] {
        assert!(audit.contains(link), "{audit}");
    }
}

/// Starts a server with an email to Eve whose first delivery has failed.
async fn start_with_waiting_email(database: TestDatabase) -> TestApp {
    let app = start_with_admin(TestConfig::on(database).with_mail()).await;
    let email = QueuedEmail::new("invitation").with("link", "https://pia.example/canary");
    app.queue(email.to_address(SystemClock.now(), "eve@example.org")).await;
    until(async || app.mails().await.iter().all(|it| it.failure.is_some()).then_some(())).await;
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
        assert!(text.contains("eve@example.org") && text.contains("Invitation"), "{text}");
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
        let answer = ada.submit(&format!("/admin/mail/{id}/discard")).await;
        // It may be in delivery, as it was just made due.
        (answer.status != 409).then_some(answer.status)
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
    let bob_id = app.sign_up("bob@example.org").await.user.expect("an id");
    let bob = UserId(uuid::Uuid::try_parse(&bob_id).expect("an id"));
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let email = QueuedEmail::new("invitation").with("link", "https://pia.example/canary");
    app.queue(email.to_user(SystemClock.now(), bob)).await;

    app.execute("UPDATE accounts SET email = 'robert@example.org' WHERE email = 'bob@example.org'")
        .await;
    let waiting_list = ada.get("/admin/mail").await.text();
    app.execute("UPDATE mails SET failed_at = queued_at, sealed = NULL, failure = 'refused'").await;
    let failed_list = ada.get("/admin/mail?state=failed").await.text();

    assert!(waiting_list.contains("bob@example.org"), "{waiting_list}");
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

async fn settings_are_listed_by_area_and_those_that_need_a_restart_are_explained(
    database: TestDatabase,
) {
    let app = start_with_admin(TestConfig::on(database).with("Server__Name", "Pia of Ada")).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    let all_page = ada.get("/admin/settings").await.text();
    let search_page = ada.get("/admin/settings?search=server%3Aname").await.text();
    let described_page = ada.get("/admin/settings?search=Authenticator%20Apps").await.text();
    let area_page = ada.get("/admin/settings?area=email").await.text();
    let empty_page = ada.get("/admin/settings?search=nothing").await.text();
    let name_page = ada.get("/admin/settings/Server:Name").await.text();
    let choice_page = ada.get("/admin/settings/LocalAuth:Registration").await.text();
    let secret_page = ada.get("/admin/settings/Metrics:Token").await.text();
    let change_refusal = ada.submit("/admin/settings/Server:Name/change").await;
    let empty_refusal = ada.submit("/admin/settings/Metrics:Token/change").await;
    let german_empty_refusal = ada.submit("/admin/settings/Metrics:Token/change?lang=de").await;
    let german_page = ada.get("/admin/settings/Server:Name?lang=de").await.text();

    for heading in ["Accounts and sign-in", "Rate limits", "Database and encryption"] {
        assert!(all_page.contains(&format!("{heading}</h2>")), "{heading}: {all_page}");
    }
    assert!(!all_page.contains("Other settings</h2>"), "a section is in no area: {all_page}");
    assert!(!all_page.contains(JWT_KEY) && !all_page.contains(MASTER_KEY));
    assert!(
        search_page.contains("Pia of Ada") && !search_page.contains("Smtp:Host"),
        "{search_page}"
    );
    assert!(
        described_page.contains("Server:Name") && !described_page.contains("Smtp:Host"),
        "{described_page}"
    );
    assert!(area_page.contains("Smtp:Host") && !area_page.contains("Server:Name"), "{area_page}");
    assert!(area_page.contains("Not set"), "{area_page}");
    assert!(!area_page.contains("Set, not displayed"), "{area_page}");
    assert!(all_page.contains("Set, not displayed"), "{all_page}");
    assert!(empty_page.contains("No entries found"), "{empty_page}");
    assert!(name_page.contains("Environment") && name_page.contains("Server__Name"), "{name_page}");
    assert!(name_page.contains("authenticator apps and passkeys"), "{name_page}");
    assert!(!name_page.contains("/change\""), "{name_page}");
    for choice in ["open", "invitation", "closed"] {
        assert!(choice_page.contains(&format!("<option value=\"{choice}\"")), "{choice_page}");
    }
    assert!(secret_page.contains("Not set"), "{secret_page}");
    assert_eq!(change_refusal.status, 404);
    assert_eq!(empty_refusal.status, 400);
    assert!(empty_refusal.text().contains("reset the setting"), "{}", empty_refusal.text());
    assert!(german_empty_refusal.text().contains("die Einstellung zurück"));
    assert_eq!(app.count("setting_overrides").await, 0);
    assert!(german_page.contains("den Server neu"), "{german_page}");
}

async fn each_setting_is_described_in_both_languages(database: TestDatabase) {
    let upstream = planted::upstream("Hello").await;
    let config = planted::with_everything(database, &upstream)
        .with("Ai__Modes__Assistant__Model", "large-model")
        .with("Ai__Providers__0__Id", "small")
        .with("Ai__Providers__0__ProviderType", "OpenAICompatible")
        .with("Ai__Providers__0__Endpoint", "http://127.0.0.1:9")
        .with("Ai__Providers__0__Model", "small-model");
    let app = start_with_admin(config).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    for (language, heading) in [("en", "Setting"), ("de", "Einstellung")] {
        let page = ada.get(&format!("/admin/settings?lang={language}")).await.text();
        let label = format!("data-label=\"{heading}\">");
        let cells: Vec<_> =
            page.split(&label).skip(1).filter_map(|it| it.split("</td>").next()).collect();

        for key in ["Ai:Modes:Assistant:Model", "Ai:Providers:0:Model", "OAuth:oidc:Scopes"] {
            assert!(cells.iter().any(|it| it.contains(key)), "{key}: {page}");
        }
        for cell in cells {
            assert!(cell.contains("<span class=\"detail\">"), "no description: {cell}");
        }
    }
}

async fn the_reason_of_an_invalid_setting_is_in_the_language_of_the_page(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;
    let change = async |language: &str| {
        let body = form(&[("csrfToken", &token), ("value", "nonsense")]);
        let path = format!("/admin/settings/LocalAuth:Registration/change?lang={language}");
        ada.post(&path, &[], &body).await
    };

    let german = change("de").await;
    let english = change("en").await;

    for (page, text) in [(german, "Geben Sie eines davon ein: "), (english, "Enter one of these: ")]
    {
        assert_eq!(page.status, 400, "{}", page.text());
        let count = page.text().matches(text).count();
        assert_eq!(count, 2, "at the field and above the form: {}", page.text());
        assert!(!page.text().contains("SVC-CFG"), "{}", page.text());
        assert!(!page.text().contains("<span lang"), "{}", page.text());
    }
}

async fn a_secret_setting_keeps_its_blanks_and_its_error_leads_to_the_field(
    database: TestDatabase,
) {
    const PATH: &str = "/admin/settings/Metrics:Token/change";
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;
    let change = async |secret: &str| {
        ada.post(PATH, &[], &form(&[("csrfToken", &token), ("secret", secret)])).await
    };

    let with_blank = change("an0ther-word-of-thirty-two-letters ").await;
    let without_blank = change("an0ther-word-of-thirty-two-letters").await;

    assert_eq!(with_blank.status, 400, "{}", with_blank.text());
    for text in ["signs without blanks", "<a href=\"#change-secret\">"] {
        assert!(with_blank.text().contains(text), "{text}: {}", with_blank.text());
    }
    assert!(!with_blank.text().contains("thirty-two-letters"), "{}", with_blank.text());
    assert_eq!(without_blank.status, 303, "{}", without_blank.text());
}

async fn errors_of_operators_and_tokens_are_at_their_fields(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;
    let fields_with = |field: (&'static str, &'static str)| {
        let csrf_token = ("csrfToken", token.as_str());
        let skill = [
            ("name", "Brief"),
            ("skillName", "brief-2"),
            ("title1", "Read"),
            ("instructions1", "Read."),
        ];
        // The first value of a name counts.
        form(&[&[csrf_token, field][..], &skill].concat())
    };
    let created = ada.post("/admin/operators", &[], &fields_with(("mode", "Assistant"))).await;
    let location = created.header("location").expect("a page").trim_start_matches("..");
    let webhook = format!("{}/webhook", location.split('?').next().expect("a path"));

    for (path, field, value, id) in [
        ("/admin/operators", "name", "", "new-name"),
        ("/admin/operators", "skillName", "two words", "new-skillName"),
        ("/admin/operators", "title1", "", "new-title1"),
        ("/admin/operators", "instructions1", "", "new-instructions1"),
        ("/admin/operators", "maxOutput1", "0", "new-maxOutput1"),
        (webhook.as_str(), "url", "http://10.0.0.1/", "webhook-url"),
        ("/admin/scim", "scopes", "none", "new-scopes-1"),
    ] {
        let page = ada.post(path, &[], &fields_with((field, value))).await;

        assert_eq!(page.status, 400, "{path} {field}: {}", page.text());
        let text = page.text();
        assert!(text.contains("<p id=\"problem\">Check the marked fields."), "{field}: {text}");
        assert!(text.contains(&format!("<a href=\"#{id}\">")), "{field}: {text}");
        let control = text.split(&format!(" id=\"{id}\"")).nth(1).expect("a control");
        let tag = control.split('>').next().unwrap_or_default();
        assert!(tag.contains("aria-invalid=\"true\""), "{field}: {tag}");
    }
}

async fn a_setting_that_is_no_longer_used_is_removed(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let body = form(&[("csrfToken", &ada.csrf_token().await), ("value", "30")]);
    let changed = ada.post("/admin/settings/Audit:RetentionDays/change", &[], &body).await;
    let before = ada.get("/admin/settings").await.text();
    app.execute("UPDATE setting_overrides SET key = 'Old:Days'").await;

    let listed = ada.get("/admin/settings").await.text();
    let found = ada.get("/admin/settings?search=old%3A").await.text();
    let of_area = ada.get("/admin/settings?area=email").await.text();
    let removed = ada.submit("/admin/settings/Old:Days/reset").await;
    let again = ada.submit("/admin/settings/Old:Days/reset").await;

    assert_eq!(changed.status, 303, "{}", changed.text());
    assert!(!before.contains("No longer used"), "{before}");
    for page in [&listed, &found] {
        assert!(page.contains("No longer used") && page.contains("Old:Days/reset"), "{page}");
    }
    assert!(!found.contains("No entries found"), "{found}");
    assert!(!of_area.contains("Old:Days"), "{of_area}");
    assert_eq!(removed.status, 303, "{}", removed.text());
    assert_eq!(removed.header("location"), Some("../../../admin/settings?done=removed"));
    assert_eq!(again.status, 404, "{}", again.text());
    assert_eq!(app.count("setting_overrides").await, 0);
}

async fn a_licence_in_force_is_replaced(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;
    let replace = async |text: &str| {
        let body = form(&[("csrfToken", &token), ("license", text)]);
        ada.post("/admin/licence?lang=de", &[], &body).await
    };
    let another_licence = licence(&Terms { licensee: "Another company".to_owned(), ..terms() });

    let refusal = replace("nonsense").await;
    let replacement = replace(&another_licence).await;
    let page = ada.get("/admin/licence").await.text();
    let licence_file = std::fs::read_to_string(app.dir.join("license.lic")).expect("a file");

    assert_eq!(refusal.status, 400);
    assert_eq!(replacement.status, 303, "{}", replacement.text());
    assert!(refusal.text().contains("keine Lizenz"), "{}", refusal.text());
    assert!(refusal.text().contains("A test"), "{}", refusal.text());
    assert!(!refusal.text().contains("hreflang"), "a form's answer cannot be opened again");
    assert!(page.contains("hreflang"), "{page}");
    assert!(page.contains("Another company") && !page.contains("A test"), "{page}");
    assert_eq!(licence_file, format!("{}\n", another_licence.trim_end()));
    assert_eq!(app.count("audit_entries WHERE action = 'Licence.Replaced'").await, 1);
}

/// More accounts than a page of a search lists have an address that contains the
/// typed one.
#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_is_searched_by_an_exact_address() {
    let app = start_with_admin(TestConfig::on(TestDatabase::sqlite())).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    app.execute(
        "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 300)
         INSERT INTO accounts (id, email, email_folded, provider, customer_type, created_at)
             SELECT randomblob(16), n || email, n || email_folded, provider, customer_type,
                 created_at + n FROM accounts, numbers",
    )
    .await;
    let search = async |person: &str| {
        let query = form(&[("user", person), ("action", "role.admin_granted")]);
        ada.get(&format!("/admin/audit?{query}")).await.text()
    };

    let exact_page = search(" Ada@Example.org ").await;
    let partial_page = search("da@example.org").await;
    let malformed_page = search("ada\0@example.org").await;

    assert!(exact.contains(">Role assigned: administrator</a>"), "{exact}");
    for page in [&partial, &malformed] {
        assert!(page.contains("No account has this address."), "{page}");
    }
}

async fn a_wait_after_wrong_passwords_is_displayed_until_it_ends(database: TestDatabase) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let config = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock));
    let app = start_with_admin(config).await;
    let bob = app.sign_up("bob@example.org").await.user.expect("an id");
    let path = format!("/admin/users/{bob}");
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let page_after_guesses = async || {
        let wrong = json!({ "email": "bob@example.org", "password": "a wrong password" });
        for _ in 0..5 {
            app.anonymous().post("/auth/login/local", &wrong).await;
        }
        ada.get(&path).await.text()
    };

    let first_page = ada.get(&path).await.text();
    let delayed_page = page_after_guesses().await;
    let lift = ada.submit(&format!("{path}/lift-wait")).await;
    let lifted_page = ada.get(&path).await.text();
    let delayed_again_page = page_after_guesses().await;
    clock.advance(Duration::from_secs(1));
    let last_page = ada.get(&path).await.text();

    assert_eq!(lift.status, 303, "{}", lift.text());
    for page in [&delayed_page, &delayed_again_page] {
        assert!(page.contains("Next attempt possible") && page.contains("/lift-wait"), "{page}");
    }
    for page in [&first_page, &lifted_page, &last_page] {
        assert!(!page.contains("Next attempt possible") && !page.contains("/lift-wait"), "{page}");
    }
}

async fn members_who_used_most_are_listed_for_those_who_manage_the_group(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    app.sign_up("olga@example.org").await;
    app.admin("grant olga@example.org --role org_manager").await.expect("a role");
    let olga = Visitor::sign_in(&app, "admin", "olga@example.org").await;
    app.admin("group set default credits.daily=100").await.expect("a limit");
    let path = "/admin/groups/00000000-0000-7000-8000-000000000001";
    let now_seconds = SystemClock.now().micros() / 1_000_000;
    let quarter_hour = now_seconds / (15 * 60);
    let today = now_seconds / (24 * 60 * 60);

    let page_before = ada.get(path).await.text();
    app.execute(&format!(
        "INSERT INTO credit_windows (key, kind, owner_id, user_id, total, used, reserved, \
             last_used, buckets) \
         SELECT 'ada:daily', 'daily', id, id, 0, 42000000, 0, 0, '{quarter_hour}:42000000' \
             FROM accounts WHERE email = '{ADA}'"
    ))
    .await;
    app.execute(&format!("INSERT INTO usage_users SELECT id, {today} FROM accounts")).await;
    let page = ada.get(path).await.text();
    let manager_page = olga.get(path).await;

    assert!(page_before.contains("No member has used credits in this period"), "{page_before}");
    assert!(page.contains("The members who have used most of this budget"), "{page}");
    let manager_text = manager_page.text();
    assert_eq!(manager_page.status, 200, "{manager_text}");
    for text in [&page, &manager_text] {
        assert!(text.contains(">42</td>") && text.contains(">42%</td>"), "{text}");
    }
    assert!(page.contains("admin/audit?action=Group.ToppedUp"), "{page}");
    for path in ["admin/users/", "admin/audit", "admin/personas/"] {
        assert!(!manager_text.contains(path), "{path}: {manager_text}");
    }
}
