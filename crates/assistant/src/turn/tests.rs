//! Tests of fallbacks, keys and limits.

mod searching;
mod stream_starts;
mod streams;
mod tools;

use std::time::Duration;

use serde_json::{Value, json};

use crate::credits::usage::CallOutcome;
use crate::error::AssistantError;
use crate::fakes::turns::{
    ANSWER, DOWN, EMPTY_EVENT, called_models, catalogue_of, entry, full_answer, new_chat, refusal,
    request_body, send_request, stream_body, stream_text, used_keys, with_fallback, with_search,
};
use crate::fakes::{Script, TestEnv, not_ready, pass};
use crate::ports::{Frame, UpstreamError};
use crate::routing::catalogue::ModelCatalogue;
use crate::routing::target::{Addresses, Protection, Target};
use crate::rules::GroupRules;

#[tokio::test]
async fn the_fallback_of_an_unavailable_model_answers() {
    for err in [DOWN, refusal(500), refusal(503), refusal(429)] {
        let env = TestEnv::with_scripts(vec![Script::Fails(err), Script::Full(ANSWER)]);

        full_answer(&env, with_fallback(), &request_body()).await.unwrap();

        assert_eq!(called_models(&env), ["first", "second"]);
        let [record] = env.usage_records().try_into().unwrap();
        assert_eq!(record.model, "second");
        assert_eq!(record.outcome, CallOutcome::Completed);
    }
}

#[tokio::test]
async fn invalid_and_running_calls_are_not_repeated() {
    for err in [refusal(400), refusal(404), refusal(422), UpstreamError::Silent, UpstreamError::Cut]
    {
        let env = TestEnv::with_scripts(vec![Script::Fails(err), Script::Full(ANSWER)]);

        assert!(full_answer(&env, with_fallback(), &request_body()).await.is_err());

        assert_eq!(env.calls().len(), 1);
    }
}

/// Returns a request with a picture at this URL.
fn picture_request(url: &str) -> Value {
    let picture = json!({ "type": "image_url", "image_url": { "url": url } });
    json!({ "messages": [{ "role": "user", "content": [picture] }] })
}

#[tokio::test]
async fn a_model_that_may_not_fetch_gets_inline_pictures_alone() {
    let env = TestEnv::new(Script::Full(ANSWER));
    let remote_picture = picture_request("http://169.254.169.254/latest");
    let inline_picture = picture_request("data:image/png;base64,AA");

    let err = full_answer(&env, with_fallback(), &remote_picture).await.unwrap_err();
    full_answer(&env, with_fallback(), &inline_picture).await.unwrap();

    let AssistantError::Invalid(violations) = err else { panic!("{err:?}") };
    assert_eq!(violations[0].field, "messages[0].content[0].image_url.url");
    assert_eq!(violations[0].code, "address_not_allowed");
    assert_eq!(env.calls().len(), 1);
}

#[tokio::test]
async fn a_fallback_that_may_not_fetch_gets_no_addresses() {
    let env = TestEnv::with_scripts(vec![Script::Fails(DOWN), Script::Full(ANSWER)]);
    let fetching_model = Target {
        addresses: Addresses::PassedOn,
        fallbacks: vec!["second".to_owned()],
        ..entry("first")
    };
    let catalogue = catalogue_of(vec![fetching_model, entry("second")]);
    let remote_picture = picture_request("http://169.254.169.254/latest");

    let err = full_answer(&env, catalogue, &remote_picture).await.unwrap_err();

    assert_eq!(err, AssistantError::UpstreamFailed);
    assert_eq!(called_models(&env), ["first"]);
}

#[tokio::test]
async fn the_last_refusal_is_returned_without_cost() {
    let env = TestEnv::with_scripts(vec![Script::Fails(DOWN), Script::Fails(refusal(429))]);

    let err = full_answer(&env, with_fallback(), &request_body()).await.unwrap_err();

    assert!(matches!(err, AssistantError::UpstreamBusy { .. }), "{err:?}");
    assert_eq!(env.usage_records(), []);
}

#[tokio::test]
async fn a_stream_falls_back_before_its_first_event() {
    let frames = vec![Ok(pass(EMPTY_EVENT)), Ok(Frame::Done)];
    let env = TestEnv::with_scripts(vec![Script::Fails(DOWN), Script::Frames(frames)]);

    let stream = stream_text(&env, with_fallback(), &stream_body()).await;

    assert!(stream.starts_with(EMPTY_EVENT), "{stream}");
    assert!(stream.contains(r#""model":"second""#), "{stream}");
}

#[tokio::test]
async fn a_stream_does_not_fall_back_after_its_first_event() {
    let cut_frames = vec![Ok(pass(EMPTY_EVENT)), Err(UpstreamError::Cut)];
    let env = TestEnv::with_scripts(vec![Script::Frames(cut_frames), Script::Full(ANSWER)]);

    let stream = stream_text(&env, with_fallback(), &stream_body()).await;

    assert!(stream.contains("Bad Gateway"), "{stream}");
    assert_eq!(env.calls().len(), 1);
}

#[tokio::test]
async fn a_refused_key_is_replaced_and_cools_down() {
    let mut scripts = vec![Script::Fails(refusal(401))];
    scripts.extend([ANSWER; 4].map(Script::Full));
    let env = TestEnv::with_scripts(scripts);
    let two_keys = catalogue_of(vec![entry("first").with_key("k2")]);
    let chat = new_chat(&env, two_keys);

    for _ in 0..4 {
        send_request(&chat).await.unwrap();
    }

    let keys = used_keys(&env);
    let (refused_key, later_keys) = keys.split_first().unwrap();
    assert!(later_keys.iter().all(|it| it != refused_key), "{keys:?}");
    assert_eq!(later_keys.len(), 4);
}

#[tokio::test]
async fn the_groups_rules_choose_the_model() {
    let rules = GroupRules { models: vec!["second".to_owned()], ..GroupRules::default() };
    let env = TestEnv::with_scripts(vec![Script::Full(ANSWER)]).with_rules(rules);
    let mut body = request_body();
    body["model"] = json!("second");

    full_answer(&env, with_fallback(), &body).await.unwrap();

    assert_eq!(called_models(&env)[0], "second");
}

#[tokio::test]
async fn a_protected_full_response_has_a_mark() {
    let env = TestEnv::with_scripts(vec![Script::Full(ANSWER)]).protected();

    let answer = full_answer(&env, with_search(), &request_body()).await.unwrap();

    assert_eq!(answer["guardrail"], json!({ "protected": true }));
}

#[tokio::test]
async fn a_protected_stream_starts_with_a_mark() {
    let frames = vec![Ok(pass(EMPTY_EVENT)), Ok(Frame::Done)];
    let env = TestEnv::with_scripts(vec![Script::Frames(frames)]).protected();

    let stream = stream_text(&env, with_search(), &stream_body()).await;

    let start = format!("data: {{\"guardrail\":{{\"protected\":true}}}}\n\n{EMPTY_EVENT}");
    assert!(stream.starts_with(&start), "{stream}");
}

/// Returns a catalogue of `first`, which is called at most once a minute, and `second`.
fn with_limited_model(fallbacks: Vec<String>) -> ModelCatalogue {
    let protection = Protection { requests_per_minute: Some(1), ..Protection::default() };
    let limited_model = Target { fallbacks, protection, ..entry("first") };
    catalogue_of(vec![limited_model, entry("second")])
}

#[tokio::test]
async fn a_model_at_its_limit_falls_back() {
    let env = TestEnv::with_scripts([ANSWER, ANSWER].map(Script::Full).into());
    let chat = new_chat(&env, with_limited_model(vec!["second".to_owned()]));

    for _ in 0..2 {
        send_request(&chat).await.unwrap();
    }

    assert_eq!(called_models(&env), ["first", "second"]);
}

#[tokio::test]
async fn the_refusal_of_a_model_at_its_limit_has_a_retry_time() {
    let env = TestEnv::with_scripts([ANSWER, ANSWER].map(Script::Full).into());
    let chat = new_chat(&env, with_limited_model(Vec::new()));

    send_request(&chat).await.unwrap();
    let mut second_call = Box::pin(send_request(&chat));
    not_ready(&mut second_call).await;
    env.advance(Duration::from_secs(5));
    let err = second_call.await.err().unwrap();

    let retry_after = Duration::from_secs(55);
    assert_eq!(err, AssistantError::UpstreamLimitReached { retry_after });
    assert_eq!(env.usage_records().len(), 1);
}
