//! Problems that the overview and the JSON API list.

use pia_kernel::{Clock as _, QueuedEmail, SystemClock};
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_server_testkit::polling::until;
use pia_testkit::databases::TestDatabase;
use serde_json::Value;

use super::form;
use super::signed_in::{ADA, Visitor, start_with_admin};

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
    let text = |it: &Value, key: &str| it[key].as_str().unwrap_or_default().to_owned();
    let problems = response.body.as_array().expect("a list").iter();
    problems
        .map(|it| (text(it, "kind"), text(it, "subject")))
        .filter(|(kind, _)| kind != "volume_nearly_full")
        .collect()
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
    let before = problems(&ada).await;
    let email = QueuedEmail::new("invitation").with("link", "https://pia.example/canary");
    for address in ["eve@example.org", "bob@example.org"] {
        app.queue(email.clone().to_address(SystemClock.now(), address)).await;
    }

    app.execute("UPDATE mails SET failed_at = queued_at, sealed = NULL, failure = 'refused'").await;
    app.execute("UPDATE maintenance_runs SET last_error = 'canary' WHERE name = 'feedback'").await;
    ada.submit("/admin/models/Ai/test").await;
    let during = problems(&ada).await;
    let page = ada.get("/admin").await.text();
    let german = ada.get("/admin?lang=de").await.text();
    app.execute("DELETE FROM mails").await;
    app.execute("UPDATE maintenance_runs SET last_error = NULL").await;
    let after = problems(&ada).await;

    // Ada has a password only.
    let lasting = ("admins_without_factor".to_owned(), String::new());
    assert_eq!(before, std::slice::from_ref(&lasting));
    let expected =
        [("model_failed", "Ai"), ("emails_failed", ""), ("maintenance_failed", "feedback")];
    let expected = expected.map(|(kind, subject)| (kind.to_owned(), subject.to_owned()));
    assert_eq!(during, [&expected[..], std::slice::from_ref(&lasting)].concat());
    for text in [
        "Provider not reachable",
        "Failed to send: 2",
        "Failed: Old feedback",
        "Without a second factor or passkey: 1",
        "admin/users?role=admin&#38;status=active&#38;factor=none",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(german.contains("Nicht gesendet: 2"), "{german}");
    assert!(!page.contains("canary"), "{page}");
    assert_eq!(after, [("model_failed".to_owned(), "Ai".to_owned()), lasting]);
}

async fn a_budget_that_is_nearly_used_up_needs_attention(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    app.admin("group set default credits.group-daily=100").await.expect("a limit");
    let quarter = SystemClock.now().micros() / (15 * 60 * 1_000_000);
    let used = |credits: i64| {
        format!(
            "UPDATE credit_windows SET used = {credits}000000, buckets = '{quarter}:{credits}000000'"
        )
    };
    app.execute(
        "INSERT INTO credit_windows (key, kind, owner_id, group_id, total, used, reserved, \
             last_used, buckets) \
         SELECT '00000000-0000-7000-8000-000000000001:group-daily', 'group-daily', id, id, 0, 0, \
             0, 0, '' FROM user_groups",
    )
    .await;

    app.execute(&used(79)).await;
    let below = ada.get("/admin").await.text();
    app.execute(&used(80)).await;
    let reached = ada.get("/admin").await.text();
    let german = ada.get("/admin?lang=de").await.text();

    assert!(!below.contains("Budget of"), "{below}");
    assert!(reached.contains("Budget of Default"), "{reached}");
    assert!(reached.contains("80% of the 100 credits for 24 hours are used"), "{reached}");
    assert!(
        german.contains("80\u{a0}% von 100 Credits für 24 Stunden sind verbraucht"),
        "{german}"
    );
}

async fn a_secret_under_another_master_key_needs_attention(database: TestDatabase) {
    const SECRET: &str = "an0ther-word-of-thirty-two-letters";
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;
    let fields = form(&[("csrfToken", &token), ("secret", SECRET)]);
    let stored = ada.post("/admin/settings/Metrics:Token/change", &[], &fields).await;
    let before = problems(&ada).await;
    let with_another_key = TestConfig::beside(&app)
        .with("Admin:RequireSecondFactor", false)
        .with("Encryption__MasterKey", ANOTHER_KEY)
        .with("Encryption__AcceptNewMasterKey", true)
        .start()
        .await;
    let ada = Visitor::sign_in(&with_another_key, "admin", ADA).await;

    let during = problems(&ada).await;
    let page = ada.get("/admin").await.text();
    let german = ada.get("/admin?lang=de").await.text();
    ada.submit("/admin/settings/Metrics:Token/reset").await;
    let after = problems(&ada).await;

    let unreadable = ("setting_unreadable".to_owned(), "Metrics:Token".to_owned());
    assert_eq!(stored.status, 303, "{}", stored.text());
    assert!(!before.contains(&unreadable), "{before:?}");
    assert!(during.contains(&unreadable), "{during:?}");
    for text in ["Setting Metrics:Token", "Not in effect", "admin/settings/Metrics:Token"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(german.contains("Einstellung Metrics:Token"), "{german}");
    assert!(!after.contains(&unreadable), "{after:?}");
}
