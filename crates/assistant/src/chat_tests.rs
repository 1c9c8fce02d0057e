//! Full responses and their usage records.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::*;
use crate::credits::usage::{CallOutcome, Usage};
use crate::fakes::{Script, TestEnv, caller, not_ready, target};
use crate::gateway::Status;
use crate::ports::UpstreamError;
use crate::routing::catalogue::ModelCatalogue;
use crate::routing::target::Target;
use crate::rules::GroupRules;

const REQUEST: Bytes =
    Bytes::from_static(br#"{"messages":[{"role":"user","content":"12345678"}],"model":"other"}"#);
const ANSWER: &str = r#"{"id":"x", "choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#;

async fn full(env: &TestEnv, caller: AiCaller) -> Result<Bytes, AssistantError> {
    match Chat::new(env.gateway()).answer(caller, REQUEST).await? {
        ChatAnswer::Complete(body) => Ok(body),
        ChatAnswer::Stream(_) => panic!("a stream"),
    }
}

#[tokio::test]
async fn a_full_response_is_passed_on_unchanged() {
    let env = TestEnv::new(Script::Full(ANSWER));

    let body = full(&env, caller()).await.unwrap();

    assert_eq!(body, ANSWER);
    assert_eq!(env.sent(), r#"{"messages":[{"role":"user","content":"12345678"}]"#);
}

#[tokio::test]
async fn usage_is_recorded_with_mode_and_model() {
    let env = TestEnv::new(Script::Full(ANSWER));
    let caller = AiCaller { mode: Some(Mode::Research), ..caller() };

    full(&env, caller).await.unwrap();

    let [record] = env.usage_records().try_into().unwrap();
    assert_eq!(record.user, caller.user);
    assert_eq!(record.mode, Mode::Research);
    assert_eq!(record.provider, "OpenAI");
    assert_eq!(record.model, "m");
    assert_eq!(
        record.tokens,
        Usage { input: 3, cached_input: 0, output: 1, connector: 0, reasoning: 0 }
    );
    assert!(!record.estimated);
    assert_eq!(record.outcome, CallOutcome::Completed);
}

#[tokio::test]
async fn a_call_without_a_mode_is_recorded_as_assistant() {
    let env = TestEnv::new(Script::Full(ANSWER));

    full(&env, caller()).await.unwrap();

    assert_eq!(env.usage_records()[0].mode, Mode::Assistant);
}

#[tokio::test]
async fn a_response_without_a_message_is_a_failure_that_costs_its_usage() {
    let with_usage = r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#;
    for (body, outcome) in [
        ("<html>", None),
        ("{}", None),
        (r#"{"error":{"message":"x"}}"#, None),
        (with_usage, Some(CallOutcome::Failed)),
    ] {
        let env = TestEnv::new(Script::Full(body));

        assert_eq!(full(&env, caller()).await, Err(AssistantError::UpstreamFailed), "{body}");
        assert_eq!(env.usage_records().first().map(|it| it.outcome), outcome, "{body}");
    }
}

#[tokio::test]
async fn a_refusal_costs_nothing() {
    for err in [
        UpstreamError::Refused { status: 401, retry_after: None, body: Bytes::new() },
        UpstreamError::Unreachable("refused".to_owned()),
    ] {
        let env = TestEnv::new(Script::Fails(err));

        assert_eq!(full(&env, caller()).await, Err(AssistantError::UpstreamFailed));
        assert_eq!(env.usage_records(), []);
    }
}

#[tokio::test]
async fn a_caller_who_leaves_while_waiting_is_recorded() {
    let env = TestEnv::new(Script::Silence);
    env.advance(Duration::from_mins(1));
    let mut waiting_call = Box::pin(full(&env, caller()));
    not_ready(&mut waiting_call).await;

    env.advance(Duration::from_millis(1500));
    drop(waiting_call);

    let [record] = env.usage_records().try_into().unwrap();
    assert_eq!(record.outcome, CallOutcome::Abandoned);
    assert_eq!(record.duration, Duration::from_millis(1500));
    assert!(record.estimated);
    assert_eq!(
        record.tokens,
        Usage { input: 6, cached_input: 0, output: 0, connector: 0, reasoning: 0 }
    );
}

#[tokio::test]
async fn a_stop_ends_a_waiting_call() {
    let env = TestEnv::new(Script::Silence);
    let mut waiting_call = Box::pin(full(&env, caller()));
    not_ready(&mut waiting_call).await;

    env.stop_now();

    assert_eq!(waiting_call.now_or_never().unwrap(), Err(AssistantError::Stopping));
}

#[tokio::test]
async fn without_a_model_there_is_no_call() {
    let env = TestEnv::new(Script::Silence);
    let gateway = env.gateway();
    gateway.catalogue.set(ModelCatalogue::default());

    let outcome = Chat::new(gateway.clone()).answer(caller(), REQUEST).await;

    assert_eq!(outcome.err(), Some(AssistantError::NotConfigured));
    let none = Status { available: false, modes: vec![] };
    assert_eq!(gateway.status(caller().group).await, Ok(none));
    assert_eq!(env.usage_records(), []);
}

#[tokio::test]
async fn the_status_lists_the_served_modes() {
    let env = TestEnv::new(Script::Silence);

    let status = env.gateway().status(caller().group).await;

    assert_eq!(status, Ok(Status { available: true, modes: Mode::ALL.to_vec() }));
}

#[tokio::test]
async fn a_group_that_may_only_name_models_is_served_too() {
    let rules = GroupRules { models: vec!["a".to_owned()], ..GroupRules::default() };
    let gateway = TestEnv::new(Script::Silence).with_rules(rules).gateway();
    let entry = Target { id: Some("A".to_owned()), ..Target::clone(&target("m")) };
    gateway
        .catalogue
        .set(ModelCatalogue { entries: vec![Arc::new(entry)], ..ModelCatalogue::default() });

    let status = gateway.status(caller().group).await;

    assert_eq!(status, Ok(Status { available: true, modes: vec![] }));
    assert_eq!(gateway.model(caller(), "a").await, Ok(Some("A".to_owned())));
    assert_eq!(gateway.model(caller(), "pia-cloud").await, Ok(None));
}
