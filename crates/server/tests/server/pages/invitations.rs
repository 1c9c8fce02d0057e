//! Page of invitations.

use pia_server_testkit::harness::TestConfig;
use pia_testkit::databases::TestDatabase;

use super::form;
use super::visitor::{ADA, Visitor, start_with_admin};

#[tokio::test(flavor = "multi_thread")]
async fn invitations_with_an_unknown_role_or_lifetime_are_refused() {
    let app = start_with_admin(TestConfig::on(TestDatabase::sqlite())).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;
    let invite = async |role: &str, days: &str| {
        let body = form(&[("csrfToken", &token), ("role", role), ("days", days)]);
        ada.post("/admin/invitations", &[], &body).await
    };

    for (role, days, reason) in [
        ("", "7", "Choose a role."),
        ("emperor", "7", "Choose a role."),
        ("user", "soon", "Enter a whole number."),
        ("user", "0", "An invitation is valid for 1 to 365 days."),
        ("user", "366", "An invitation is valid for 1 to 365 days."),
    ] {
        let refused = invite(role, days).await;

        assert_eq!(refused.status, 400, "{role} {days}: {}", refused.text());
        assert!(refused.text().contains(reason), "{role} {days}: {}", refused.text());
    }
    let unknown_group = form(&[("csrfToken", &token), ("role", "user"), ("group", "sales")]);
    let of_unknown_group = ada.post("/admin/invitations", &[], &unknown_group).await;
    let created = invite("kb_manager", "365").await;

    assert_eq!(of_unknown_group.status, 400, "{}", of_unknown_group.text());
    assert_eq!(created.status, 200, "{}", created.text());
    assert_eq!(app.count("invitations WHERE role = 'kb_manager'").await, 1);
    assert_eq!(app.count("invitations").await, 1);
}
