//! `pia-server --provision-pod`, as operators call it.

use pia_policy::Feature;
use pia_server_testkit::harness::{licence, terms};
use pia_server_testkit::program::Invocation;
use serde_json::{Value, json};

/// Group that every database has.
const DEFAULT: &str = "00000000-0000-7000-8000-000000000001";

/// Returns a call with these words as arguments.
fn call(first: &Invocation, line: &str) -> Invocation {
    line.split_whitespace().fold(first.beside().argument("--provision-pod"), Invocation::argument)
}

/// Runs it, which must succeed. Returns the object and the warnings.
fn provisioned(first: &Invocation, line: &str) -> (Value, String) {
    let output = call(first, line).run();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{line}: {errors}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.lines().count(), 1, "{text}");
    (serde_json::from_str(&text).expect("JSON"), errors)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_is_provisioned_beside_a_running_server() {
    let first_invocation = Invocation::new().licensed();
    let _server = first_invocation.start().await;

    let line = format!("create --name Weather --grant-group {DEFAULT} --operator-skill plan");
    let (created, warnings) = provisioned(&first_invocation, &line);

    let keys: Vec<_> = created.as_object().expect("an object").keys().cloned().collect();
    let expected = ["connectorId", "operatorId", "token", "grantedGroupIds", "resolvedMemberCount"];
    assert_eq!(keys, expected);
    assert_eq!(created["grantedGroupIds"], json!([DEFAULT]));
    assert_eq!(created["resolvedMemberCount"], 0);
    assert!(created["operatorId"].is_string());
    assert!(warnings.contains("no chat can reach the pod"), "{warnings}");

    let id = created["connectorId"].as_str().expect("an id");
    let (issued, _) = provisioned(&first_invocation, &format!("issue-token --connector {id}"));
    assert_eq!(issued["connectorId"], created["connectorId"]);
    assert_eq!(issued["operatorId"], created["operatorId"]);
    assert_ne!(issued["token"], created["token"]);

    let (alone, warnings) = provisioned(&first_invocation, "create --name=Alone");
    assert_eq!(alone["operatorId"], json!(null));
    assert_eq!(alone["grantedGroupIds"], json!([]));
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
        let refusal = call(&first_invocation, &line).fails();
        assert!(refusal.contains(code), "{line}: {refusal}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_are_administered_beside_a_running_server() {
    let first_invocation = Invocation::new().licensed();
    let _server = first_invocation.start().await;
    let admin = |line: &str| {
        let words = format!("admin pods {line}");
        words.split_whitespace().fold(first_invocation.beside(), Invocation::argument)
    };
    let prints = |line: &str| {
        let output = admin(line).run();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(prints("list").starts_with("No connectors"));

    let (created, _) = provisioned(&first_invocation, "create --name Weather");
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
    let first_invocation = Invocation::new().file("license.lic", &licence(&terms));
    let _server = first_invocation.start().await;
    let line = format!("create --name Weather --grant-group {DEFAULT}");
    let refusal = call(&first_invocation, &line).fails();
    assert!(refusal.contains("GroupManagement"), "{refusal}");
    provisioned(&first_invocation, "create --name Weather");
}
