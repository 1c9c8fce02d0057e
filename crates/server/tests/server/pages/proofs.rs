//! Tests of forms that ask for a proof of ownership.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::authenticator::{Authenticator, Draft, ORIGIN, PRESENT};
use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::console::Console;
use pia_server_testkit::credentials::enrol;
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::machine::Machine;
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::form;
use super::html::PageParts;
use super::page_routes::{pages, with_unknown_ids};
use super::secured::code;
use super::strangers::{MULTIPART, multipart};
use super::visitor::{ADA, Visitor, start_with_admin};

on_both_databases!(
    a_form_is_sent_again_with_the_proof_that_it_needs,
    a_passkey_of_the_account_is_a_proof,
    an_account_without_a_password_gives_other_proofs_only,
    the_question_names_the_proofs_that_the_account_has,
    a_secret_is_entered_again_instead_of_repeated,
    a_file_is_chosen_again_with_the_proof,
    each_form_needs_a_proof_as_listed,
    a_dangerous_act_does_nothing_without_a_proof,
);

/// All forms with their [`ProofNeed`]. A new form must be added here too. It needs a proof if it is
/// hard to undo, hands out a secret, gives someone more rights or credits, or changes what the
/// server or clients enforce or run. It needs none if it changes an everyday setting of a group,
/// or what groups use: that is undone in the same place.
const FORMS: &str = "
    never     /account
    itself    /account/api-keys
    never     /account/api-keys/{id}/revoke
    itself    /account/app-passwords
    never     /account/app-passwords/{id}/revoke
    itself    /account/data/delete
    always    /account/devices/{id}/remove
    itself    /account/email
    never     /account/email/confirm
    never     /account/name
    never     /account/passkeys
    itself    /account/passkeys/new
    always    /account/passkeys/{id}/remove
    never     /account/passkeys/{id}/rename
    always    /account/passkeys/{id}/unblock
    itself    /account/security/authenticator
    never     /account/security/authenticator/confirm
    itself    /account/security/password
    itself    /account/security/recovery-codes
    itself    /account/security/turn-off
    never     /account/sessions/sign-out-others
    never     /account/sessions/{id}/sign-out
    never     /account/sign-out
    always    /admin/assignments/{id}/terminate
    never     /admin/audit/verify
    always    /admin/certificates
    always    /admin/certificates/{id}/remove
    always    /admin/connectors
    never     /admin/connectors/pods/{id}/drain
    always    /admin/connectors/{id}/delete
    never     /admin/connectors/{id}/groups
    always    /admin/connectors/{id}/test-call
    always    /admin/connectors/{id}/tokens
    always    /admin/connectors/{id}/tokens/revoke
    always    /admin/connectors/{id}/tokens/{tokenId}/revoke
    never     /admin/feedback/{id}/triage
    always    /admin/first-steps/email
    never     /admin/first-steps/group
    always    /admin/first-steps/provider
    always    /admin/first-steps/registration
    never     /admin/first-steps/test-call
    never     /admin/first-steps/test-email
    never     /admin/groups
    always    /admin/groups/{id}/delete
    always    /admin/groups/{id}/members
    always    /admin/groups/{id}/policy
    never     /admin/groups/{id}/rename
    never     /admin/groups/{id}/settings
    always    /admin/groups/{id}/top-up
    sometimes /admin/invitations
    never     /admin/invitations/{id}/revoke
    never     /admin/knowledge
    always    /admin/knowledge/{id}/delete
    never     /admin/knowledge/{id}/documents/paste
    never     /admin/knowledge/{id}/documents/upload
    always    /admin/knowledge/{id}/documents/{document}/delete
    never     /admin/knowledge/{id}/documents/{document}/retry
    never     /admin/knowledge/{id}/prompt
    never     /admin/knowledge/{id}/questions/{question}/delete
    never     /admin/knowledge/{id}/rename
    never     /admin/knowledge/{id}/search
    never     /admin/knowledge/{id}/settings/share
    always    /admin/licence
    never     /admin/mail/test
    always    /admin/mail/{id}/discard
    never     /admin/mail/{id}/retry
    never     /admin/models/{key}/test
    never     /admin/operators
    always    /admin/operators/{id}/delete
    never     /admin/operators/{id}/edit
    never     /admin/operators/{id}/groups
    always    /admin/operators/{id}/webhook
    always    /admin/operators/{id}/webhook/delete
    never     /admin/personas
    always    /admin/personas/{id}/delete
    never     /admin/personas/{id}/groups
    never     /admin/personas/{id}/knowledge
    never     /admin/personas/{id}/plugins
    never     /admin/personas/{id}/save
    always    /admin/plugins
    always    /admin/plugins/{id}/activate
    never     /admin/plugins/{id}/deactivate
    always    /admin/plugins/{id}/delete
    never     /admin/plugins/{id}/groups
    never     /admin/plugins/{id}/icon
    always    /admin/plugins/{id}/package
    never     /admin/plugins/{id}/remove-icon
    always    /admin/plugins/{id}/save
    never     /admin/policies
    never     /admin/policies/check
    always    /admin/policies/{id}/delete
    always    /admin/policies/{id}/publish
    always    /admin/policies/{id}/save
    always    /admin/policies/{id}/versions/{number}/restore
    always    /admin/policies/{id}/withdraw
    always    /admin/scim
    always    /admin/scim/{id}/revoke
    always    /admin/settings/{key}/change
    always    /admin/settings/{key}/reset
    always    /admin/users/{id}/api-keys/{part}/revoke
    always    /admin/users/{id}/deactivate
    always    /admin/users/{id}/end-sessions
    always    /admin/users/{id}/group
    always    /admin/users/{id}/lift-wait
    always    /admin/users/{id}/reactivate
    always    /admin/users/{id}/reset-factor
    always    /admin/users/{id}/role
";

/// Fields of a connector for an MCP server, which does not exist.
const MCP_SERVER: &[(&str, &str)] =
    &[("name", "Docs"), ("mcp", "https://mcp.invalid/mcp"), ("token", "an-access-token")];
/// Page of the default group.
const DEFAULT_GROUP: &str = "/admin/groups/00000000-0000-7000-8000-000000000001";
/// Age of a sign-in after which a proof is needed.
pub(super) const STALE: Duration = Duration::from_secs(601);

/// Returns a clock that a server and its test share.
fn manual_clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(SystemClock.now()))
}

/// Sends a form with these fields and the CSRF token.
pub(super) async fn send(ada: &Visitor<'_>, path: &str, fields: &[(&str, &str)]) -> TestResponse {
    let token = ada.csrf_token().await;
    let fields = [&[("csrfToken", token.as_str())], fields].concat();
    let answer = ada.post(path, &[], &form(&fields)).await;
    if answer.status != 415 {
        return answer;
    }
    // Forms with files are sent in another media type.
    ada.send("POST", path, &[MULTIPART], &multipart(&fields)).await
}

/// Returns whether a form was answered by the page that asks for a proof.
fn is_confirmation(answer: &TestResponse) -> bool {
    answer.status == 403 && answer.text().contains("<section id=\"owner\"")
}

async fn a_form_is_sent_again_with_the_proof_that_it_needs(database: TestDatabase) {
    const PATH: &str = "/admin/settings/LocalAuth:Registration/change";
    let clock = manual_clock();
    let config = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock));
    let app = start_with_admin(config).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    clock.advance(STALE);

    let question = send(&ada, PATH, &[("value", "closed")]).await;
    let wrong_proof = [("value", "closed"), ("proof", "not my password")];
    let second_question = send(&ada, PATH, &wrong_proof).await;
    let count_before = app.count("setting_overrides").await;
    let question_parts = PageParts::parse(&question.text());
    let proof_form = question_parts.form_with("proof").expect("a form with the proof");
    let changed = ada.post(PATH, &[], &proof_form.encode_with(&[("proof", PASSWORD)])).await;

    assert!(is_confirmation(&question), "{}: {}", question.status, question.text());
    assert!(!question.text().contains("passkey-proof"), "{}", question.text());
    assert!(question.text().contains("You signed in more than ten minutes ago"));
    assert!(!question.text().contains("role=\"alert\""), "{}", question.text());
    let second_text = second_question.text();
    assert!(is_confirmation(&second_question), "{}: {second_text}", second_question.status);
    assert!(second_text.contains("The password is wrong."), "{second_text}");
    assert!(second_text.contains("role=\"alert\""), "{second_text}");
    assert!(second_text.contains("Check the marked fields."), "{second_text}");
    assert!(!second_text.contains("not my password"), "{second_text}");
    assert_eq!(count_before, 0);
    let action = proof_form.action.trim_start_matches("../");
    assert!(PATH.ends_with(action), "{action}");
    assert_eq!(changed.status, 303, "{}", changed.text());
    assert_eq!(app.count("setting_overrides WHERE value LIKE '%closed%'").await, 1);
}

/// Signs Ada in on a device.
async fn sign_in_device(app: &TestApp) -> Client {
    let credentials = json!({ "email": ADA, "password": PASSWORD });
    let envelope = app.anonymous().post("/auth/login/local", &credentials).await;
    app.anonymous().with_tokens(&envelope.body)
}

/// Returns a page's form for a passkey, filled in with a response to a new challenge.
async fn passkey_form(
    app: &TestApp,
    page: &TestResponse,
    key: &mut Authenticator,
    forge: impl FnOnce(&mut Draft),
) -> String {
    let options = app.anonymous().post("/auth/webauthn/login/begin", &json!({})).await.body;
    let token = options["challengeToken"].as_str().expect("a token");
    let credential = key.get_as(&options["publicKey"], forge).to_string();

    let parts = PageParts::parse(&page.text());
    let blank_form = parts.form_with("credential").expect("a form for a passkey");
    blank_form.encode_with(&[("challengeToken", token), ("credential", &credential)])
}

async fn a_passkey_of_the_account_is_a_proof(database: TestDatabase) {
    const PATH: &str = "/admin/settings/LocalAuth:Registration/change";
    let clock = manual_clock();
    let config = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock));
    let app = start_with_admin(config.with("Server__PublicUrl", ORIGIN)).await;
    let mut own = Authenticator::new();
    let mut foreign = Authenticator::new();
    enrol(&sign_in_device(&app).await, &mut own, "Own").await;
    enrol(&app.sign_up("bob@example.org").await, &mut foreign, "Foreign").await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    clock.advance(STALE);

    let question = send(&ada, PATH, &[("value", "closed")]).await;
    let foreign_form = passkey_form(&app, &question, &mut foreign, |_| {}).await;
    let foreign_answer = ada.post(PATH, &[], &foreign_form).await;
    let unverified_form = passkey_form(&app, &question, &mut own, |it| it.flags = PRESENT).await;
    let unverified_answer = ada.post(PATH, &[], &unverified_form).await;
    let unproved_answer = send(&ada, PATH, &[("value", "closed")]).await;
    let count_before = app.count("setting_overrides").await;
    let own_form = passkey_form(&app, &question, &mut own, |_| {}).await;
    let own_answer = ada.post(PATH, &[], &own_form).await;
    let replay_answer = ada.post(PATH, &[], &own_form).await;
    let next_answer = send(&ada, PATH, &[("value", "closed")]).await;

    assert!(question.text().contains("Use a passkey"), "{}", question.text());
    for answer in [foreign_answer, unverified_answer, replay_answer] {
        let text = answer.text();
        assert!(is_confirmation(&answer), "{}: {text}", answer.status);
        assert!(text.contains("The passkey was not accepted"), "{text}");
    }
    assert!(is_confirmation(&unproved_answer), "{}", unproved_answer.text());
    assert_eq!(count_before, 0);
    assert_eq!(own_answer.status, 303, "{}", own_answer.text());
    assert_eq!(app.count("setting_overrides WHERE value LIKE '%closed%'").await, 1);
    // The passkey confirmed all that is done in the next ten minutes.
    assert!(!is_confirmation(&next_answer), "{}", next_answer.text());
}

async fn an_account_without_a_password_gives_other_proofs_only(database: TestDatabase) {
    const PATH: &str = "/admin/settings/LocalAuth:Registration/change";
    let clock = manual_clock();
    let config = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock));
    let app = start_with_admin(config.with("Server__PublicUrl", ORIGIN)).await;
    enrol(&sign_in_device(&app).await, &mut Authenticator::new(), "Key").await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    app.execute("UPDATE accounts SET provider = 'google', password_hash = NULL").await;
    clock.advance(STALE);

    let with_passkey = send(&ada, PATH, &[("value", "closed")]).await;
    app.execute("DELETE FROM passkeys").await;
    let without_any = send(&ada, PATH, &[("value", "closed")]).await;

    for question in [&with_passkey, &without_any] {
        assert_eq!(question.status, 403, "{}", question.text());
        assert!(!question.text().contains("name=\"proof\""), "{}", question.text());
    }
    assert!(with_passkey.text().contains("Use a passkey"), "{}", with_passkey.text());
    assert!(!with_passkey.text().contains("no password"), "{}", with_passkey.text());
    let advice = "no password, authenticator app or passkey. Sign out and in again";
    assert!(without_any.text().contains(advice), "{}", without_any.text());
    assert_eq!(app.count("setting_overrides").await, 0);
}

async fn the_question_names_the_proofs_that_the_account_has(database: TestDatabase) {
    const PATH: &str = "/admin/settings/LocalAuth:Registration/change";
    const SETUP: &str = "/account/security/authenticator";
    let clock = manual_clock();
    let config = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock));
    let app = start_with_admin(config).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let texts = [
        ("en", "Your password", "Or the six digits", "The password is wrong."),
        ("de", "Ihr Passwort", "Oder die sechs Ziffern", "Das Passwort stimmt nicht."),
    ];
    let question = async |language: &str| {
        let fields = [("value", "closed"), ("proof", "not my password")];
        let answer = send(&ada, &format!("{PATH}?lang={language}"), &fields).await;
        assert!(is_confirmation(&answer), "{}", answer.text());
        answer.text()
    };

    clock.advance(STALE);
    for (language, password, code_hint, wrong_password) in texts {
        let page = question(language).await;
        assert!(page.contains(password) && !page.contains(code_hint), "{page}");
        assert!(page.contains(wrong_password), "{page}");
    }

    let setup = send(&ada, SETUP, &[("proof", PASSWORD)]).await.text();
    let displayed_secret = setup
        .split_once("class=\"secret\"")
        .and_then(|it| it.1.split_once("<code>")?.1.split_once("</code>"))
        .expect("a secret");
    let now = u64::try_from(clock.now().micros() / 1_000_000).expect("a time");
    let first_code = code(displayed_secret.0, now);
    let enabled = send(&ada, &format!("{SETUP}/confirm"), &[("code", &first_code)]).await;
    assert_eq!(enabled.status, 200, "{}", enabled.text());

    clock.advance(STALE);
    for (language, password, code_hint, wrong_password) in texts {
        let page = question(language).await;
        assert!(page.contains(password) && page.contains(code_hint), "{page}");
        assert!(!page.contains(wrong_password), "{page}");
    }
}

async fn a_secret_is_entered_again_instead_of_repeated(database: TestDatabase) {
    const SECRET: &str = "an0ther-word-of-thirty-two-letters";
    let secret_fields = [
        ("/admin/connectors", "token"),
        ("/admin/first-steps/email", "password"),
        ("/admin/first-steps/provider", "key"),
        ("/admin/settings/Metrics:Token/change", "secret"),
    ];
    let clock = manual_clock();
    let config = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock));
    let app = start_with_admin(config).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    clock.advance(STALE);

    for (path, name) in secret_fields {
        let question = send(&ada, path, &[(name, SECRET), ("host", "smtp.example.com")]).await;
        let parts = PageParts::parse(&question.text());
        let mut fields = parts.forms.iter().flat_map(|it| &it.fields);

        assert!(is_confirmation(&question), "{path}: {}", question.text());
        assert!(!question.text().contains(SECRET), "{path}");
        assert!(question.text().contains("smtp.example.com"), "{path}");
        assert!(fields.any(|it| it.name == name && it.kind == "password"), "{path}");
    }
    let path = "/admin/settings/Metrics:Token/change";
    let changed = send(&ada, path, &[("secret", SECRET), ("proof", PASSWORD)]).await;

    assert_eq!(changed.status, 303, "{}", changed.text());
    assert_eq!(app.count("setting_overrides").await, 1);
}

async fn a_file_is_chosen_again_with_the_proof(database: TestDatabase) {
    const CONTENT: &str = "no cabinet";
    let clock = manual_clock();
    let config = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock));
    let app = start_with_admin(config).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let plugin = [("name", "Tickets"), ("kind", "mcp_server")];
    let created = send(&ada, "/admin/plugins", &plugin).await;
    let page = created.header("location").expect("a location").trim_start_matches("../");
    let id = page.split(['/', '?']).find(|it| it.len() == 36).expect("an id");
    let path = format!("/admin/plugins/{id}/package");
    clock.advance(STALE);

    let question = send(&ada, &path, &[("package", CONTENT)]).await;
    let without_file = send(&ada, &path, &[("proof", PASSWORD)]).await;
    let with_file = send(&ada, &path, &[("package", CONTENT)]).await;

    assert!(is_confirmation(&question), "{}", question.text());
    assert!(question.text().contains("Choose the file again"), "{}", question.text());
    assert!(!question.text().contains(CONTENT), "{}", question.text());
    let parts = PageParts::parse(&question.text());
    let proof_form = parts.form_with("proof").expect("a form with the proof");
    assert!(proof_form.has_files);
    assert!(proof_form.fields.iter().any(|it| it.name == "package" && it.kind == "file"));
    assert_eq!(without_file.status, 400, "{}", without_file.text());
    assert!(without_file.text().contains("Choose a file"), "{}", without_file.text());
    assert_eq!(with_file.status, 400, "{}", with_file.text());
    assert!(!with_file.text().contains("Choose a file."), "{}", with_file.text());
}

/// Need of a form for a proof, after a sign-in of more than ten minutes ago.
enum ProofNeed {
    Always,
    /// Depends on the values of its fields.
    Sometimes,
    /// Proof that the use case itself requires.
    Itself,
    Never,
}

impl ProofNeed {
    fn parse(word: &str) -> Self {
        match word {
            "always" => Self::Always,
            "sometimes" => Self::Sometimes,
            "itself" => Self::Itself,
            "never" => Self::Never,
            _ => panic!("{word}"),
        }
    }
}

/// Returns the paths of the forms with their needs.
fn forms() -> impl Iterator<Item = (&'static str, ProofNeed)> {
    let rows = FORMS.lines().filter_map(|line| line.trim().split_once(' '));
    rows.map(|(need, path)| (path.trim(), ProofNeed::parse(need)))
}

#[test]
fn every_form_is_listed() {
    let mut listed: Vec<_> = forms().map(|it| it.0).collect();
    let mut table: Vec<_> = pages().filter(|it| it.method == "POST").map(|it| it.path).collect();

    listed.sort_unstable();
    table.sort_unstable();

    assert_eq!(table, listed);
}

async fn each_form_needs_a_proof_as_listed(database: TestDatabase) {
    let clock = manual_clock();
    let config = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock));
    let app = start_with_admin(config).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    clock.advance(STALE);

    for (pattern, need) in forms().filter(|it| it.0 != "/account/sign-out") {
        let path = with_unknown_ids(pattern);
        let answer = send(&ada, &path, &[]).await;
        let is_question = is_confirmation(&answer);
        let message = format!("{pattern} {}: {}", answer.status, answer.text());

        match need {
            ProofNeed::Always => {
                assert!(is_question, "{message}");
                let proved = send(&ada, &path, &[("proof", PASSWORD)]).await;
                assert!(!is_confirmation(&proved), "{pattern}: {}", proved.text());
                clock.advance(STALE);
            }
            ProofNeed::Itself => {
                assert!((400..500).contains(&answer.status) && !is_question, "{message}");
            }
            ProofNeed::Never => assert!(!is_question, "{message}"),
            ProofNeed::Sometimes => {}
        }
    }
}

/// Act that needs a proof, and the audit entry that it leaves.
struct Act {
    path: String,
    fields: &'static [(&'static str, &'static str)],
    action: &'static str,
}

fn act(
    path: impl Into<String>,
    fields: &'static [(&'static str, &'static str)],
    action: &'static str,
) -> Act {
    Act { path: path.into(), fields, action }
}

async fn a_dangerous_act_does_nothing_without_a_proof(database: TestDatabase) {
    let clock = manual_clock();
    let config = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock));
    let app = start_with_admin(config.with("Server__PublicUrl", ORIGIN)).await;
    let acts = plan_acts(&app).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    for Act { path, fields, action } in &acts {
        clock.advance(STALE);
        let entries = format!("audit_entries WHERE action = '{action}'");
        let count_before = app.count(&entries).await;

        let question = send(&ada, path, fields).await;
        let count_unproved = app.count(&entries).await;
        let proved_fields = [*fields, &[("proof", PASSWORD)][..]].concat();
        let proved = send(&ada, path, &proved_fields).await;

        assert!(is_confirmation(&question), "{path} {}: {}", question.status, question.text());
        assert_eq!(count_unproved, count_before, "{path}");
        assert!([200, 303].contains(&proved.status), "{path} {}: {}", proved.status, proved.text());
        assert_eq!(app.count(&entries).await, count_before + 1, "{path}");
    }

    // An invitation without a role of the console needs no proof.
    clock.advance(STALE);
    let user_invitation = send(&ada, "/admin/invitations", &[("role", "user")]).await;
    assert_eq!(user_invitation.status, 200, "{}", user_invitation.text());
}

/// Creates what the acts need. A new passkey ends other sessions, so it is the first.
async fn plan_acts(app: &TestApp) -> Vec<Act> {
    let client = sign_in_device(app).await;
    let passkey = enrol(&client, &mut Authenticator::new(), "Key").await;
    Machine::new().register(&client).await;
    let devices = Visitor::sign_in(app, "account", ADA).await.get("/account/devices").await;

    let credentials = json!({ "email": ADA, "password": PASSWORD });
    let login = app.anonymous().post("/admin/login", &credentials).await;
    let console = Console::from_answer(app, &login);
    let created = console.write("POST", "/api/admin/groups", json!({ "name": "Small" })).await;

    let page = devices.text();
    let device = page
        .split("account/devices/")
        .filter_map(|it| it.get(..36))
        .find(|it| uuid::Uuid::try_parse(it).is_ok())
        .expect("a device");
    let group = created.body["id"].as_str().expect("an id");
    let bob = app.sign_up("bob@example.org").await;
    let bob = bob.user_id();

    vec![
        act(format!("{DEFAULT_GROUP}/top-up"), &[("credits", "5")], "Group.ToppedUp"),
        act(format!("/admin/groups/{group}/delete"), &[], "Group.Deleted"),
        act(format!("/admin/users/{bob}/end-sessions"), &[], "account.sessions_ended"),
        act("/admin/scim", &[("name", "IdP"), ("scopes", "users")], "ScimToken.Created"),
        act("/admin/connectors", &[("name", "Robots")], "Connector.Created"),
        act("/admin/connectors", MCP_SERVER, "Connector.Created"),
        act("/admin/invitations", &[("role", "admin")], "invitation.created"),
        act("/admin/invitations", &[("role", "kb_manager")], "invitation.created"),
        act(format!("/account/devices/{device}/remove"), &[], "device.revoked"),
        act(format!("/account/passkeys/{passkey}/remove"), &[], "passkey.removed"),
    ]
}
