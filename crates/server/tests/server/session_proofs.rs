//! Tests of acts that need a recent proof of the session's owner.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::console::{Console, administrator};
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

on_both_databases!(
    a_proof_frees_its_session_alone_for_ten_minutes,
    wrong_proofs_are_refused_and_counted,
);

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

    let refused = console.write("POST", RESET, Value::Null).await;
    let proved = console.write("POST", PROOF, json!({ "password": PASSWORD })).await;
    let admitted = console.write("POST", RESET, Value::Null).await;
    let foreign = other.write("POST", RESET, Value::Null).await;
    clock.advance(STALE);
    let late = console.write("POST", RESET, Value::Null).await;

    assert_eq!(refused.refusal(), (403, "fresh_sign_in_required"));
    assert_eq!(proved.status, 200, "{}", proved.text());
    assert_eq!(admitted.refusal(), (404, "not_found"));
    assert_eq!(foreign.refusal(), (403, "fresh_sign_in_required"));
    assert_eq!(late.refusal(), (403, "fresh_sign_in_required"));
}

async fn wrong_proofs_are_refused_and_counted(database: TestDatabase) {
    let (_app, console, clock) = start(database).await;
    clock.advance(STALE);

    for _ in 0..10 {
        let wrong = console.write("POST", PROOF, json!({ "password": "a wrong password" })).await;
        assert_eq!(wrong.refusal(), (403, "invalid_proof"));
    }
    let delayed = console.write("POST", PROOF, json!({ "password": PASSWORD })).await;
    let refused = console.write("POST", RESET, Value::Null).await;

    assert_eq!(delayed.refusal(), (429, "rate_limited"));
    assert_eq!(refused.refusal(), (403, "fresh_sign_in_required"));
}
