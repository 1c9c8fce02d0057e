//! Problems that the overview and the JSON API list.

use pia_kernel::{Clock as _, QueuedEmail, SystemClock};
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_server_testkit::polling::until;
use pia_testkit::databases::TestDatabase;
use serde_json::Value;

use super::form;
use super::visitor::{ADA, Visitor, start_with_admin};

on_both_databases!(
    failures_need_attention_until_they_end,
    a_budget_that_is_nearly_used_up_needs_attention,
    a_secret_under_another_master_key_needs_attention,
);

/// Key that the data is not encrypted under.
const ANOTHER_KEY: &str = "b81d64f07a2c9e35d1f80b6c47a3e92f5d0c8b7164e3f29a0d5b8c7e61f4a392";

/// Returns the kinds and subjects of the listed problems, except those of the
/// machine that runs the tests.
async fn problems(ada: &Visitor<'_>) -> Vec<(String, String)> {
    let response = ada.get("/api/admin/problems").await;
    assert_eq!(response.status, 200, "{}", response.text());
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let problems = response.body.as_array().expect("a list");
    problems
        .iter()
        .map(|it| (text(it, "kind"), text(it, "subject")))
        .filter(|(kind, _)| kind != "volume_nearly_full")
        .collect()
}

/// Returns a problem as [`problems`] does.
fn problem(kind: &str, subject: &str) -> (String, String) {
    (kind.to_owned(), subject.to_owned())
}

async fn failures_need_attention_until_they_end(database: TestDatabase) {
    let unreachable = TestConfig::on(database).with_mail().with_upstream("http://127.0.0.1:9");
    let app = start_with_admin(unreachable).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    until(async || {
        let page = ada.get("/admin/jobs").await.text();
        (!page.contains("Not run yet") && !page.contains("Running")).then_some(())
    })
    .await;
    let problems_before = problems(&ada).await;
    let email = QueuedEmail::new("invitation").with("link", "https://pia.example/canary");
    for address in ["eve@example.org", "bob@example.org"] {
        app.queue(email.clone().to_address(SystemClock.now(), address)).await;
    }

    app.execute("UPDATE mails SET failed_at = queued_at, sealed = NULL, failure = 'refused'").await;
    app.execute("UPDATE maintenance_runs SET last_error = 'canary' WHERE name = 'feedback'").await;
    ada.submit("/admin/models/Ai/test").await;
    let problems_during = problems(&ada).await;
    let page = ada.get("/admin").await.text();
    let german_page = ada.get("/admin?lang=de").await.text();
    app.execute("DELETE FROM mails").await;
    app.execute("UPDATE maintenance_runs SET last_error = NULL").await;
    let problems_after = problems(&ada).await;

    // Ada has a password only.
    assert_eq!(problems_before, [problem("admins_without_factor", "")]);
    let failures = [
        problem("model_failed", "Ai"),
        problem("emails_failed", ""),
        problem("maintenance_failed", "feedback"),
        problem("admins_without_factor", ""),
    ];
    assert_eq!(problems_during, failures);
    for text in [
        "Provider not reachable",
        "Failed to send: 2",
        "Failed: Old feedback",
        "Without a second factor or passkey: 1",
        "admin/users?role=admin&#38;status=active&#38;factor=none",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(german_page.contains("Nicht gesendet: 2"), "{german_page}");
    assert!(!page.contains("canary"), "{page}");
    let lasting = [problem("model_failed", "Ai"), problem("admins_without_factor", "")];
    assert_eq!(problems_after, lasting);
}

async fn a_budget_that_is_nearly_used_up_needs_attention(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    app.admin("group set default credits.group-daily=100").await.expect("a limit");
    let quarter_hour = SystemClock.now().micros() / (15 * 60 * 1_000_000);
    let set_used = async |credits: i64| {
        let micros = credits * 1_000_000;
        let buckets = format!("{quarter_hour}:{micros}");
        app.execute(&format!("UPDATE credit_windows SET used = {micros}, buckets = '{buckets}'"))
            .await;
    };
    app.execute(
        "INSERT INTO credit_windows (key, kind, owner_id, group_id, total, used, reserved, \
             last_used, buckets) \
         SELECT '00000000-0000-7000-8000-000000000001:group-daily', 'group-daily', id, id, 0, 0, \
             0, 0, '' FROM user_groups",
    )
    .await;

    set_used(79).await;
    let page_below_limit = ada.get("/admin").await.text();
    set_used(80).await;
    let page = ada.get("/admin").await.text();
    let german_page = ada.get("/admin?lang=de").await.text();

    assert!(!page_below_limit.contains("Budget of"), "{page_below_limit}");
    assert!(page.contains("Budget of Default"), "{page}");
    assert!(page.contains("80% of the 100 credits for 24 hours are used"), "{page}");
    let german_text = "80\u{a0}% von 100 Credits für 24 Stunden sind verbraucht";
    assert!(german_page.contains(german_text), "{german_page}");
}

async fn a_secret_under_another_master_key_needs_attention(database: TestDatabase) {
    const SECRET: &str = "an0ther-word-of-thirty-two-letters";
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;
    let fields = form(&[("csrfToken", &token), ("secret", SECRET)]);
    let change = ada.post("/admin/settings/Metrics:Token/change", &[], &fields).await;
    let problems_before = problems(&ada).await;
    let with_another_key = TestConfig::beside(&app)
        .with("Admin:RequireSecondFactor", false)
        .with("Encryption__MasterKey", ANOTHER_KEY)
        .with("Encryption__AcceptNewMasterKey", true)
        .start()
        .await;
    let ada = Visitor::sign_in(&with_another_key, "admin", ADA).await;

    let problems_during = problems(&ada).await;
    let page = ada.get("/admin").await.text();
    let german_page = ada.get("/admin?lang=de").await.text();
    ada.submit("/admin/settings/Metrics:Token/reset").await;
    let problems_after = problems(&ada).await;

    let unreadable = problem("setting_unreadable", "Metrics:Token");
    assert_eq!(change.status, 303, "{}", change.text());
    assert!(!problems_before.contains(&unreadable), "{problems_before:?}");
    assert!(problems_during.contains(&unreadable), "{problems_during:?}");
    for text in ["Setting Metrics:Token", "Not in effect", "admin/settings/Metrics:Token"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(german_page.contains("Einstellung Metrics:Token"), "{german_page}");
    assert!(!problems_after.contains(&unreadable), "{problems_after:?}");
}
