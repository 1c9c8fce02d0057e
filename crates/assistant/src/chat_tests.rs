//! Whole answers, and what is written down of them.

use std::sync::Arc;

use futures_util::FutureExt;

use super::*;
use crate::credits::usage::{CallOutcome, Usage};
use crate::fakes::{Script, Surroundings, caller, not_ready, target};
use crate::gateway::Status;
use crate::ports::UpstreamError;
use crate::routing::catalogue::ModelCatalogue;
use crate::routing::target::Target;
use crate::rules::GroupRules;

const REQUEST: Bytes =
    Bytes::from_static(br#"{"messages":[{"role":"user","content":"12345678"}],"model":"other"}"#);
const ANSWER: &str = r#"{"id":"x", "choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#;

async fn whole(around: &Surroundings, caller: AiCaller) -> Result<Bytes, AssistantError> {
    match Chat::new(around.gateway()).answer(caller, REQUEST).await? {
        ChatAnswer::Whole(body) => Ok(body),
        ChatAnswer::Stream(_) => panic!("not whole"),
    }
}

#[tokio::test]
async fn a_whole_answer_goes_on_byte_by_byte() {
    let around = Surroundings::new(Script::Whole(ANSWER));

    let body = whole(&around, caller()).await.unwrap();

    assert_eq!(body, ANSWER);
    assert_eq!(around.sent(), r#"{"messages":[{"role":"user","content":"12345678"}]"#);
}

#[tokio::test]
async fn its_usage_is_written_down_with_mode_and_model() {
    let around = Surroundings::new(Script::Whole(ANSWER));
    let caller = AiCaller { mode: Some(Mode::Research), ..caller() };

    whole(&around, caller).await.unwrap();

    let [record] = around.noted().try_into().unwrap();
    assert_eq!((record.user, record.mode), (caller.user, Mode::Research));
    assert_eq!((record.provider, record.model.as_str()), ("OpenAI", "m"));
    assert_eq!(
        record.tokens,
        Usage { input: 3, cached_input: 0, output: 1, connector: 0, reasoning: 0 }
    );
    assert_eq!((record.estimated, record.outcome), (false, CallOutcome::Completed));
}

#[tokio::test]
async fn a_call_without_a_mode_is_written_down_as_talking() {
    let around = Surroundings::new(Script::Whole(ANSWER));

    whole(&around, caller()).await.unwrap();

    assert_eq!(around.noted()[0].mode, Mode::Assistant);
}

#[tokio::test]
async fn an_answer_without_a_message_is_a_failure_that_costs_what_was_reported() {
    let reported = r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#;
    for (body, outcome) in [
        ("<html>", None),
        ("{}", None),
        (r#"{"error":{"message":"x"}}"#, None),
        (reported, Some(CallOutcome::Failed)),
    ] {
        let around = Surroundings::new(Script::Whole(body));

        assert_eq!(whole(&around, caller()).await, Err(AssistantError::UpstreamFailed), "{body}");
        assert_eq!(around.noted().first().map(|it| it.outcome), outcome, "{body}");
    }
}

#[tokio::test]
async fn a_refusal_costs_nothing() {
    for err in [
        UpstreamError::Refused { status: 401, retry_after: None, body: Bytes::new() },
        UpstreamError::Unreachable("refused".to_owned()),
    ] {
        let around = Surroundings::new(Script::Fails(err));

        assert_eq!(whole(&around, caller()).await, Err(AssistantError::UpstreamFailed));
        assert_eq!(around.noted(), []);
    }
}

#[tokio::test]
async fn a_caller_who_leaves_while_waiting_is_written_down() {
    let around = Surroundings::new(Script::Silence);
    let mut waiting = Box::pin(whole(&around, caller()));
    not_ready(&mut waiting).await;

    drop(waiting);

    let [record] = around.noted().try_into().unwrap();
    assert_eq!((record.outcome, record.estimated), (CallOutcome::Abandoned, true));
    assert_eq!(
        record.tokens,
        Usage { input: 6, cached_input: 0, output: 0, connector: 0, reasoning: 0 }
    );
}

#[tokio::test]
async fn a_stop_ends_the_waiting() {
    let around = Surroundings::new(Script::Silence);
    let mut waiting = Box::pin(whole(&around, caller()));
    not_ready(&mut waiting).await;

    around.stop_now();

    assert_eq!(waiting.now_or_never().unwrap(), Err(AssistantError::Stopping));
}

#[tokio::test]
async fn without_a_model_there_is_no_call() {
    let around = Surroundings::new(Script::Silence);
    let gateway = around.gateway();
    gateway.catalogue.set(ModelCatalogue::default());

    let outcome = Chat::new(gateway.clone()).answer(caller(), REQUEST).await;

    assert_eq!(outcome.err(), Some(AssistantError::NotConfigured));
    let none = Status { available: false, modes: vec![] };
    assert_eq!(gateway.status(caller().group).await, Ok(none));
    assert_eq!(around.noted(), []);
}

#[tokio::test]
async fn the_status_names_the_modes_that_are_served() {
    let around = Surroundings::new(Script::Silence);

    let status = around.gateway().status(caller().group).await;

    assert_eq!(status, Ok(Status { available: true, modes: Mode::ALL.to_vec() }));
}

#[tokio::test]
async fn a_group_that_may_only_name_models_is_served_too() {
    let rules = GroupRules { models: vec!["a".to_owned()], ..GroupRules::default() };
    let gateway = Surroundings::new(Script::Silence).with_rules(rules).gateway();
    let entry = Target { id: Some("A".to_owned()), ..Target::clone(&target("m")) };
    gateway
        .catalogue
        .set(ModelCatalogue { entries: vec![Arc::new(entry)], ..ModelCatalogue::default() });

    let status = gateway.status(caller().group).await;

    assert_eq!(status, Ok(Status { available: true, modes: vec![] }));
    assert_eq!(gateway.model(caller(), "a").await, Ok(Some("A".to_owned())));
    assert_eq!(gateway.model(caller(), "pia-cloud").await, Ok(None));
}
