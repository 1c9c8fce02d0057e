//! Tests of the binary with its master key.

use pia_server_testkit::console::administrator;
use pia_server_testkit::harness::{MASTER_KEY, TestConfig};
use pia_server_testkit::program::{Invocation, ServerProcess};
use pia_testkit::databases::TestDatabase;
use serde_json::json;

const ANOTHER: &str = "b81d64f07a2c9e35d1f80b6c47a3e92f5d0c8b7164e3f29a0d5b8c7e61f4a392";

/// Returns a call in a folder whose data is encrypted under [`MASTER_KEY`].
async fn used() -> Invocation {
    let call = Invocation::new().licensed();
    stop(call.start().await).await;
    call
}

async fn stop(program: ServerProcess) {
    program.signal("TERM");
    assert!(program.end().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_current_key_is_accepted() {
    let call = used().await;

    stop(call.start().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_key_prevents_the_start() {
    let call = used().await.with("ENCRYPTION_MASTER_KEY", ANOTHER);

    let error = call.fails();

    assert!(error.contains("SVC-ENC-001"), "{error}");
    for key in [MASTER_KEY, ANOTHER] {
        assert!(!error.contains(key), "{error}");
    }
    stop(call.with("ENCRYPTION_MASTER_KEY", MASTER_KEY).start().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_may_succeed_the_previous_one() {
    let with_both = used()
        .await
        .with("ENCRYPTION_MASTER_KEY", ANOTHER)
        .with("Encryption__PreviousMasterKey", MASTER_KEY);

    stop(with_both.start().await).await;
    let with_new = with_both.without("Encryption__PreviousMasterKey");

    stop(with_new.start().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn old_data_may_be_abandoned_explicitly() {
    let call = used().await.with("ENCRYPTION_MASTER_KEY", ANOTHER);

    let program = call.with("Encryption__AcceptNewMasterKey", "true").start().await;

    program.logs("data encrypted under the old one is unreadable").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_setting_under_another_key_is_logged_by_its_key() {
    const SECRET: &str = "an0ther-word-of-thirty-two-letters";
    let (app, _, console) = administrator(TestConfig::on(TestDatabase::sqlite())).await;
    let path = "/api/admin/settings/Metrics:Token";
    let store_response = console.write("PUT", path, json!({ "value": SECRET })).await;
    let call = Invocation::new()
        .licensed()
        .with("Database__ConnectionString", &app.database().url)
        .with("ENCRYPTION_MASTER_KEY", ANOTHER)
        .with("Encryption__AcceptNewMasterKey", "true");

    let program = call.start().await;

    let message = "setting not in effect: it was encrypted with another master key";
    program.logs_of_setting(message, "Metrics:Token").await;
    assert_eq!(store_response.status, 200, "{}", store_response.text());
    assert!(!program.log().contains(SECRET), "{}", program.log());
}
