//! Tests of acts that need a recent proof of the session's owner.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::authenticator::{Authenticator, ORIGIN};
use pia_server_testkit::console::{Console, administrator};
use pia_server_testkit::credentials::enrol;
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use pia_web::{ProofCheck, Route};
use serde_json::{Value, json};

on_both_databases!(
    a_proof_frees_its_session_alone_for_ten_minutes,
    a_passkey_of_the_account_is_a_proof_once,
    each_dangerous_route_does_nothing_without_a_proof,
    wrong_proofs_are_refused_and_counted,
);

/// Routes that need a proof at the gates: the acts whose forms always, or sometimes, ask for one.
const PROVED: &str = "
    POST   /api/admin/certificates
    DELETE /api/admin/certificates/{id}
    PUT    /api/admin/client-policies/{id}
    DELETE /api/admin/client-policies/{id}
    POST   /api/admin/client-policies/{id}/versions/{number}/restore
    POST   /api/admin/connectors
    DELETE /api/admin/connectors/{id}
    POST   /api/admin/connectors/{id}/test-call
    POST   /api/admin/connectors/{id}/tokens
    DELETE /api/admin/connectors/{id}/tokens
    DELETE /api/admin/connectors/{id}/tokens/{tokenId}
    DELETE /api/admin/groups/{id}
    PUT    /api/admin/groups/{id}/client-policy
    POST   /api/admin/groups/{id}/top-ups
    DELETE /api/admin/knowledge-bases/{id}
    DELETE /api/admin/managed-personas/{id}
    PUT    /api/admin/license
    DELETE /api/admin/operators/{id}
    PUT    /api/admin/operators/{id}/webhook
    DELETE /api/admin/operators/{id}/webhook
    POST   /api/admin/plugins
    PUT    /api/admin/plugins/{id}
    DELETE /api/admin/plugins/{id}
    PUT    /api/admin/plugins/{id}/package
    POST   /api/admin/scim-tokens
    DELETE /api/admin/scim-tokens/{id}
    PUT    /api/admin/settings/{key}
    DELETE /api/admin/settings/{key}
    POST   /api/admin/users/{id}/end-sessions
    PUT    /api/admin/users/{id}/group
    POST   /api/admin/users/{id}/lift-wait
";

const PROOF: &str = "/api/admin/session/proof";
/// Act that needs a proof, on a user that does not exist.
const RESET: &str = "/api/admin/users/0199f0e0-0000-7000-8000-00000000ffff/reset-factor";
/// Age of a sign-in after which a proof is needed.
const STALE: Duration = Duration::from_secs(601);

/// Starts a server with an administrator, who is signed in to the console.
async fn start(database: TestDatabase) -> (TestApp, Console, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let config = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock));
    let (app, _, console) = administrator(config).await;
    (app, console, clock)
}

async fn a_proof_frees_its_session_alone_for_ten_minutes(database: TestDatabase) {
    let (app, console, clock) = start(database).await;
    let credentials = json!({ "email": "ada@example.org", "password": PASSWORD });
    let sign_in = app.anonymous().post("/admin/login", &credentials).await;
    let other = Console::from_answer(&app, &sign_in);
    clock.advance(STALE);

    let refused_response = console.write("POST", RESET, Value::Null).await;
    let proved = console.write("POST", PROOF, json!({ "password": PASSWORD })).await;
    let admitted = console.write("POST", RESET, Value::Null).await;
    let foreign = other.write("POST", RESET, Value::Null).await;
    clock.advance(STALE);
    let late = console.write("POST", RESET, Value::Null).await;

    assert_eq!(refused_response.refusal(), (403, "fresh_sign_in_required"));
    assert_eq!(proved.status, 200, "{}", proved.text());
    assert_eq!(admitted.refusal(), (404, "not_found"));
    assert_eq!(foreign.refusal(), (403, "fresh_sign_in_required"));
    assert_eq!(late.refusal(), (403, "fresh_sign_in_required"));
}

/// Returns a proof by a passkey, for a new challenge.
async fn passkey_proof(app: &TestApp, key: &mut Authenticator) -> Value {
    let options = app.anonymous().post("/auth/webauthn/login/begin", &json!({})).await.body;
    let credential = key.get(&options["publicKey"]);
    json!({ "challengeToken": options["challengeToken"], "credential": credential })
}

async fn a_passkey_of_the_account_is_a_proof_once(database: TestDatabase) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let config = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock));
    let (app, client, _) = administrator(config.with("Server__PublicUrl", ORIGIN)).await;
    let mut own = Authenticator::new();
    let mut foreign = Authenticator::new();
    enrol(&client, &mut own, "Own").await;
    enrol(&app.sign_up("bob@example.org").await, &mut foreign, "Foreign").await;
    // A new passkey ends the other sessions.
    let credentials = json!({ "email": "ada@example.org", "password": PASSWORD });
    let sign_in = app.anonymous().post("/admin/login", &credentials).await;
    let console = Console::from_answer(&app, &sign_in);
    clock.advance(STALE);

    let of_another = passkey_proof(&app, &mut foreign).await;
    let of_another = console.write("POST", PROOF, of_another).await;
    let refused_response = console.write("POST", RESET, Value::Null).await;
    let proof = passkey_proof(&app, &mut own).await;
    let proved = console.write("POST", PROOF, proof.clone()).await;
    let admitted = console.write("POST", RESET, Value::Null).await;
    let replayed = console.write("POST", PROOF, proof).await;

    assert_eq!(of_another.refusal(), (403, "invalid_passkey"));
    assert_eq!(refused_response.refusal(), (403, "fresh_sign_in_required"));
    assert_eq!(proved.status, 200, "{}", proved.text());
    assert_eq!(admitted.refusal(), (404, "not_found"));
    assert_eq!(replayed.refusal(), (403, "invalid_passkey"));
    assert_eq!(app.count("audit_entries WHERE action = 'sign_in.failed'").await, 1);
}

#[test]
fn the_routes_that_need_a_proof_are_listed() {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut listed: Vec<_> = PROVED.lines().map(words).filter(|it| !it.is_empty()).collect();
    let mut table: Vec<_> =
        proved_routes().map(|it| format!("{} {}", it.method, it.path)).collect();

    listed.sort_unstable();
    table.sort_unstable();

    assert_eq!(table, listed);
}

fn proved_routes() -> impl Iterator<Item = Route> {
    pia_server::routes().into_iter().filter(|it| it.proof_check == ProofCheck::AtGate)
}

async fn each_dangerous_route_does_nothing_without_a_proof(database: TestDatabase) {
    let (app, console, clock) = start(database).await;
    let group = console.write("POST", "/api/admin/groups", json!({ "name": "Small" })).await;
    let group = group.body["id"].as_str().expect("an id").to_owned();
    let call = async |route: &Route, body: Value| {
        let path = route.path.replace("{id}", &group).replace("{tokenId}", &group);
        let path = path.replace("{number}", "1").replace("{key}", "LocalAuth:Registration");
        console.write(route.method.as_str(), &path, body).await
    };
    let body = json!({ "name": "IdP", "value": "closed" });
    let entries = "audit_entries WHERE action IN \
                   ('Connector.Created', 'Group.Deleted', 'ScimToken.Created')";
    clock.advance(STALE);

    for route in proved_routes() {
        let refused_response = call(&route, body.clone()).await;
        assert_eq!(refused_response.refusal(), (403, "fresh_sign_in_required"), "{}", route.path);
        assert!(refused_response.text().contains(PROOF), "{}", refused_response.text());
    }
    let unchanged = app.count(entries).await;
    let proved = console.write("POST", PROOF, json!({ "password": PASSWORD })).await;
    for route in proved_routes() {
        let admitted = call(&route, body.clone()).await;
        assert!(!admitted.text().contains("fresh_sign_in_required"), "{}", admitted.text());
    }

    assert_eq!(unchanged, 0);
    assert_eq!(proved.status, 200, "{}", proved.text());
    assert_eq!(app.count(entries).await, 3);
}

async fn wrong_proofs_are_refused_and_counted(database: TestDatabase) {
    let (_app, console, clock) = start(database).await;
    clock.advance(STALE);

    let mistyped = console.write("POST", PROOF, json!({ "password": 5 })).await;
    for _ in 0..10 {
        let wrong = console.write("POST", PROOF, json!({ "password": "a wrong password" })).await;
        assert_eq!(wrong.refusal(), (403, "invalid_proof"));
    }
    let delayed = console.write("POST", PROOF, json!({ "password": PASSWORD })).await;
    let refused_response = console.write("POST", RESET, Value::Null).await;

    assert_eq!(mistyped.refusal(), (400, "validation_failed"));
    assert_eq!(mistyped.body["errors"][0]["field"], "password", "{}", mistyped.text());
    assert_eq!(delayed.refusal(), (429, "rate_limited"));
    assert_eq!(refused_response.refusal(), (403, "fresh_sign_in_required"));
}
