//! Tests of `pia-server admin …`, by which operators administer accounts.

use pia_policy::Terms;
use pia_server_testkit::harness::{MASTER_KEY, PASSWORD, TestApp, TestConfig, terms};
use pia_server_testkit::on_both_databases;
use pia_server_testkit::polling::until;
use pia_server_testkit::program::Invocation;
use pia_server_testkit::relay::FakeRelay;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

on_both_databases!(
    roles_are_granted_and_taken_within_the_licence,
    the_last_administrator_cannot_be_lost,
    accounts_that_are_active_are_never_more_than_there_are_seats,
    invitations_are_made_listed_and_taken_back,
    whom_it_concerns_gets_an_email_from_the_server,
    a_role_for_whoever_may_not_own_the_address_is_granted_with_a_warning,
);

/// Marks the addresses of all accounts as verified.
async fn verify_all(app: &TestApp) {
    app.execute("UPDATE accounts SET email_verified_at = created_at").await;
}

async fn report_of(app: &TestApp, line: &str) -> String {
    app.admin(line).await.unwrap_or_else(|err| err.to_string())
}

async fn roles_are_granted_and_taken_within_the_licence(database: TestDatabase) {
    let two = Terms { max_admins: Some(2), ..terms() };
    let app = TestConfig::on(database).licensed(Some(two)).start().await;
    for name in ["a", "b", "c"] {
        app.sign_up(&format!("{name}@example.org")).await;
    }
    verify_all(&app).await;

    assert_eq!(
        report_of(&app, "list").await,
        "No administrators; create one with `admin grant EMAIL`\n"
    );
    assert_eq!(
        report_of(&app, "grant a@example.org").await,
        "Role admin assigned to a@example.org\n"
    );
    assert_eq!(
        report_of(&app, "grant b@example.org").await,
        "Role admin assigned to b@example.org\n"
    );
    assert_eq!(
        report_of(&app, "grant c@example.org").await,
        "licence limit of administrators reached: 2"
    );
    assert_eq!(
        report_of(&app, "grant c@example.org --role org_manager").await,
        "Role org_manager assigned to c@example.org\n"
    );
    assert_eq!(report_of(&app, "list").await, "a@example.org\nb@example.org\n");
    assert_eq!(
        report_of(&app, "grant B@example.org --role user").await,
        "Role user assigned to b@example.org\n"
    );
    assert_eq!(
        report_of(&app, "grant c@example.org").await,
        "Role admin assigned to c@example.org\n"
    );
    assert_eq!(
        report_of(&app, "grant nobody@example.org").await,
        "no account has the address nobody@example.org"
    );
}

async fn a_role_for_whoever_may_not_own_the_address_is_granted_with_a_warning(
    database: TestDatabase,
) {
    let app = TestConfig::on(database).start().await;
    app.sign_up("a@example.org").await;

    let unverified = report_of(&app, "grant a@example.org --role kb_manager").await;
    let taken = report_of(&app, "grant a@example.org --role user").await;
    verify_all(&app).await;
    let input = report_of(&app, "grant a@example.org --role kb_manager").await;

    let warned = unverified.strip_prefix(input.as_str()).unwrap_or_default();
    assert!(warned.starts_with("warning: the address is not verified"), "{warned}");
    assert_eq!(taken, "Role user assigned to a@example.org\n");
}

async fn the_last_administrator_cannot_be_lost(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    app.sign_up("a@example.org").await;
    report_of(&app, "grant a@example.org").await;

    for line in ["grant a@example.org --role user", "deactivate a@example.org"] {
        let reported = report_of(&app, line).await;
        assert!(reported.contains("the last active administrator"), "{reported}");
    }
    assert_eq!(report_of(&app, "list").await, "a@example.org\n");
}

async fn accounts_that_are_active_are_never_more_than_there_are_seats(database: TestDatabase) {
    let two = Terms { max_users: Some(2), ..terms() };
    let app = TestConfig::on(database).licensed(Some(two)).start().await;
    app.sign_up("a@example.org").await;
    app.sign_up("b@example.org").await;
    let new_body = json!({ "email": "c@example.org", "password": PASSWORD });

    let full_response = app.anonymous().post("/auth/register", &new_body).await;
    report_of(&app, "deactivate a@example.org").await;
    let registration_response = app.anonymous().post("/auth/register", &new_body).await;
    let refused = report_of(&app, "reactivate a@example.org").await;
    report_of(&app, "deactivate b@example.org").await;
    let reactivated = report_of(&app, "reactivate a@example.org").await;

    assert_eq!(full_response.refusal(), (403, "user_limit_reached"));
    assert_eq!(registration_response.status, 200);
    assert_eq!(refused, "licence limit of active accounts reached: 2");
    assert_eq!(reactivated, "User a@example.org reactivated\n");
}

async fn invitations_are_made_listed_and_taken_back(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;

    let invited = report_of(&app, "invite Ada@Example.org --role kb_manager --days 2").await;
    let listed = report_of(&app, "invitations").await;
    let id = listed.split(' ').next().unwrap_or_default();
    let revoked = report_of(&app, &format!("revoke {id}")).await;
    let again = report_of(&app, &format!("revoke {id}")).await;

    let link = invited.lines().last().unwrap_or_default();
    assert!(link.starts_with("http://127.0.0.1:0/auth/register.html?invitation="), "{invited}");
    assert!(invited.contains("with role kb_manager"), "{invited}");
    assert!(listed.contains("for ada@example.org, role kb_manager, expires "), "{listed}");

    let token = link.split('=').next_back().unwrap_or_default();
    assert!(token.len() == 43 && !listed.contains(token), "{listed}");
    assert_eq!(revoked, format!("Invitation {id} revoked\n"));
    assert!(again.contains("no such invitation"), "{again}");
    assert_eq!(report_of(&app, "invitations").await, "No invitations\n");
    assert_eq!(
        report_of(&app, "invite nobody").await,
        "cannot create the invitation: This is not a valid email address."
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_licence_nobody_becomes_administrator() {
    let app = TestConfig::on(TestDatabase::sqlite()).start().await;
    app.sign_up("a@example.org").await;
    std::fs::remove_file(app.dir.join("license.lic")).expect("a licence");

    let reported = report_of(&app, "grant a@example.org").await;

    assert_eq!(reported, "licence limit of administrators reached: 0");
}

/// Returns an invocation of `pia-server admin` without the signing key, which
/// operators need not know.
fn call(server: &Invocation, words: &[&str]) -> Invocation {
    let call = server.beside().without("JWT_SECRET_KEY").argument("admin");
    words.iter().fold(call, |call, word| call.argument(word))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_binary_changes_accounts_beside_a_running_server() {
    let server = Invocation::new().licensed();
    let program = server.start().await;
    let person = json!({ "email": "ada@example.org", "password": PASSWORD });
    assert_eq!(program.anonymous().post("/auth/register", &person).await.status, 200);
    let envelope = program.anonymous().post("/auth/login/local", &person).await;
    let ada = program.anonymous().with_tokens(&envelope.body);
    assert_eq!(ada.get("/auth/me").await.status, 200);

    let output = call(&server, &["deactivate", "ada@example.org"]).run();

    let reported = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(reported, "User ada@example.org deactivated and signed out of all sessions\n");
    assert!(output.status.success() && output.stderr.is_empty());
    until(async || (ada.get("/auth/me").await.status == 401).then_some(())).await;
    let second_response = program.anonymous().post("/auth/login/local", &person).await;
    assert_eq!(second_response.refusal(), (401, "invalid_credentials"));
}

#[test]
fn what_the_binary_cannot_do_is_reported_on_the_other_channel() {
    let server = Invocation::new().licensed();

    let nobody = call(&server, &["grant", "nobody@example.org"]).fails();
    let unclear = call(&server, &["promote", "nobody@example.org"]).fails();
    let keyless = call(&server, &["list"]).without("ENCRYPTION_MASTER_KEY").fails();
    let other_key = MASTER_KEY.chars().rev().collect::<String>();
    let foreign = call(&server, &["list"])
        .with("ENCRYPTION_MASTER_KEY", &other_key)
        .with("Encryption__AcceptNewMasterKey", "true")
        .fails();

    assert_eq!(nobody, "error: no account has the address nobody@example.org\n");
    assert!(unclear.contains("unknown `admin` command: use grant"), "{unclear}");
    assert!(keyless.contains("Encryption:MasterKey"), "{keyless}");
    assert!(foreign.contains("SVC-"), "{foreign}");
}

#[test]
fn an_unknown_setting_is_a_warning() {
    let server = Invocation::new().licensed();

    let output = call(&server, &["list", "--Server:Nope=1"]).run();

    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    assert_eq!(
        errors,
        "warning: setting `Server:nope` from the command line: is not known and has no effect\n"
    );
}

#[test]
fn settings_stand_beside_the_words() {
    let server = Invocation::new().licensed();
    let elsewhere = server.dir().join("elsewhere.db");
    let database = format!("--Database:ConnectionString=sqlite://{}", elsewhere.display());

    let output = call(&server, &[&database, "list"]).run();

    assert!(String::from_utf8_lossy(&output.stdout).contains("No administrators"));
    assert!(elsewhere.exists() && !server.dir().join("pia.db").exists());
}

async fn whom_it_concerns_gets_an_email_from_the_server(database: TestDatabase) {
    let relay = FakeRelay::start().await;
    let app = TestConfig::on(database).with_relay(&relay).start().await;
    app.sign_up("bob@example.org").await;

    let made = report_of(&app, "invite ada@example.org").await;
    let invited = relay.next_mail().await;
    report_of(&app, "deactivate bob@example.org").await;
    let deactivated = relay.next_mail().await;

    assert_eq!(invited.header("to"), Some("ada@example.org"));
    assert!(made.contains(&invited.link()), "{made}");
    assert_eq!(deactivated.subject(), "Your account was deactivated");
}
