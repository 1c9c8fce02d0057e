//! Tests of the settings of assignments.

use std::time::Duration;

use super::*;

#[test]
fn assignments_are_off_by_default() {
    for operator in [Operator::development(), Operator::production()] {
        assert!(operator.read().operators.engine.is_none());
    }
    let enabled = Operator::development().argument("Operators:Enabled=true");
    assert_eq!(enabled.read().operators.engine, Some(EngineConfig::Embedded));
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
fn an_engine_that_is_not_supported_is_refused_if_assignments_are_on() {
    let operator = Operator::production();
    assert!(operator.read().operators.engine.is_none());

    let enabled = operator.argument("Operators:Enabled=true");
    let errors = enabled.sources.load_config().unwrap_err();
    assert_eq!(errors.iter().filter_map(|it| it.key()).collect::<Vec<_>>(), ["Workflow:Address"]);
}
