//! `pia-server --provision-pod`, as operators call it.

use pia_policy::Feature;
use pia_server_testkit::harness::{licence, terms};
use pia_server_testkit::program::Invocation;
use serde_json::{Value, json};

/// Group that every database has.
const DEFAULT: &str = "00000000-0000-7000-8000-000000000001";

/// Returns a call beside a server, with these words as arguments.
fn call(server: &Invocation, line: &str) -> Invocation {
    line.split_whitespace().fold(server.beside().argument("--provision-pod"), Invocation::argument)
}

/// Output of a command that provisions a pod.
struct Provisioned {
    /// Printed object.
    object: Value,
    warnings: String,
}

/// Runs a command beside a server, which must succeed.
fn provisioned(server: &Invocation, line: &str) -> Provisioned {
    let output = call(server, line).run();
    let warnings = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{line}: {warnings}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.lines().count(), 1, "{text}");
    Provisioned { object: serde_json::from_str(&text).expect("JSON"), warnings }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_is_provisioned_beside_a_running_server() {
    let server = Invocation::new().licensed();
    let _program = server.start().await;

    let line = format!("create --name Weather --grant-group {DEFAULT} --operator-skill plan");
    let Provisioned { object: created, warnings } = provisioned(&server, &line);

    let keys: Vec<_> = created.as_object().expect("an object").keys().cloned().collect();
    let expected = ["connectorId", "operatorId", "token", "grantedGroupIds", "resolvedMemberCount"];
    assert_eq!(keys, expected);
    assert_eq!(created["grantedGroupIds"], json!([DEFAULT]));
    assert_eq!(created["resolvedMemberCount"], 0);
    assert!(created["operatorId"].is_string());
    assert!(warnings.contains("no chat can reach the pod"), "{warnings}");

    let id = created["connectorId"].as_str().expect("an id");
    let issued = provisioned(&server, &format!("issue-token --connector {id}")).object;
    assert_eq!(issued["connectorId"], created["connectorId"]);
    assert_eq!(issued["operatorId"], created["operatorId"]);
    assert_ne!(issued["token"], created["token"]);

    let Provisioned { object: ungranted, warnings } = provisioned(&server, "create --name=Alone");
    assert_eq!(ungranted["operatorId"], json!(null));
    assert_eq!(ungranted["grantedGroupIds"], json!([]));
    assert!(warnings.contains("the pod serves nothing"), "{warnings}");

    let unknown_id = "0199f0e0-0000-7000-8000-0000000000ff";
    for (line, code) in [
        ("create --name weather".to_owned(), "name_taken"),
        (format!("create --name Other --grant-group {unknown_id}"), "unknown_group"),
        ("create --name Other --operator-skill two/words".to_owned(), "invalid_skill_name"),
        ("create --name Other --operator-skill PLAN".to_owned(), "skill_name_taken"),
        (format!("issue-token --connector {unknown_id}"), "unknown_connector"),
        ("create".to_owned(), "needs --name"),
        ("create --name Other --grant-group all".to_owned(), "GUID"),
        ("issue-token".to_owned(), "needs --connector"),
        ("remove".to_owned(), "create or issue-token"),
    ] {
        let refusal = call(&server, &line).fails();
        assert!(refusal.contains(code), "{line}: {refusal}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_keys_are_required() {
    let server = Invocation::new().licensed();
    let _program = server.start().await;
    let keyless = server.beside().without("JWT_SECRET_KEY").without("ENCRYPTION_MASTER_KEY");

    let created = provisioned(&keyless, &format!("create --name A --grant-group {DEFAULT}")).object;
    let id = created["connectorId"].as_str().expect("an id");
    let issued = provisioned(&keyless, &format!("issue-token --connector {id}")).object;
    assert_ne!(issued["token"], created["token"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_are_administered_beside_a_running_server() {
    let server = Invocation::new().licensed();
    let _program = server.start().await;
    let admin = |line: &str| {
        let words = format!("admin pods {line}");
        words.split_whitespace().fold(server.beside(), Invocation::argument)
    };
    let prints = |line: &str| {
        let output = admin(line).run();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(prints("list").starts_with("No connectors"));

    let created = provisioned(&server, "create --name Weather").object;
    let id = created["connectorId"].as_str().expect("an id");
    let listed = prints("list");
    assert!(listed.contains(&format!("Weather ({id}), 0 groups, token until")), "{listed}");
    assert!(prints(&format!("revoke {id}")).contains("revoked"));
    assert!(prints("list").contains("no valid token"));

    let unknown_id = "0199f0e0-0000-7000-8000-0000000000ff";
    for (line, code) in [
        (format!("revoke {unknown_id}"), "unknown_connector"),
        (format!("drain {unknown_id}"), "unknown_pod"),
        ("drain all".to_owned(), "expected an id"),
        ("stop".to_owned(), "list, revoke CONNECTOR or drain POD"),
    ] {
        let refusal = admin(&line).fails();
        assert!(refusal.contains(code), "{line}: {refusal}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_are_granted_with_their_feature_only() {
    let mut terms = terms();
    terms.features = Some([Feature::AiProxy].into());
    let server = Invocation::new().file("license.lic", &licence(&terms));
    let _program = server.start().await;
    let line = format!("create --name Weather --grant-group {DEFAULT}");
    let refusal = call(&server, &line).fails();
    assert!(refusal.contains("GroupManagement"), "{refusal}");
    provisioned(&server, "create --name Weather");
}
