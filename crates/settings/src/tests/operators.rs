//! Tests of the settings of assignments.

use std::time::Duration;

use super::*;

#[test]
fn assignments_are_off_by_default() {
    for operator in [Operator::development(), Operator::production()] {
        assert!(operator.read().operators.engine.is_none());
    }
    let enabled = Operator::development().argument("Operators:Enabled=true");
    assert!(matches!(enabled.read().operators.engine, Some(EngineConfig::Embedded)));
}

#[test]
fn lenient_values_fall_back() {
    let operator = Operator::development().arguments(&[
        "Operators:MaxConcurrentAssignments=3",
        "Operators:MaxConcurrentAssignmentsPerUser=9",
        "Operators:PlaintextRetentionHours=-1",
    ]);

    let settings = operator.read().operators.assignments;

    assert_eq!(settings.max_per_user, 3);
    assert_eq!(settings.plaintext_retention, Duration::from_hours(72));
}

#[test]
fn production_uses_a_workflow_server() {
    let operator = Operator::production().argument("Operators:Enabled=true");
    let Some(EngineConfig::Temporal(server)) = operator.read().operators.engine else {
        panic!("no workflow server")
    };

    assert_eq!(server.address.as_str(), "workflow:7233");
    assert_eq!(server.namespace.as_str(), "pia");
    assert_eq!(server.task_queue.as_str(), "pia-operators");
    assert!(!server.is_tls);
}

#[test]
fn an_api_key_is_not_sent_in_clear() {
    let operator = Operator::production().argument("Workflow:ApiKey=a-key");
    let errors = operator.sources.load_config().unwrap_err();
    assert_eq!(errors.iter().filter_map(|it| it.key()).collect::<Vec<_>>(), ["Workflow:ApiKey"]);

    let encrypted = operator.arguments(&["Operators:Enabled=true", "Workflow:Tls=true"]);
    let engine = encrypted.read().operators.engine;
    assert!(!format!("{engine:?}").contains("a-key"));
    let Some(EngineConfig::Temporal(server)) = engine else { panic!("no workflow server") };
    assert_eq!(server.api_key.unwrap().expose(), "a-key");
}
