//! Tests of fallbacks, keys and server tools.

use futures_util::StreamExt;
use pia_kernel::LiveSetting;
use serde_json::{Value, json};

use super::*;
use crate::chat::{Chat, ChatAnswer};
use crate::credits::usage::CallOutcome;
use crate::fakes::{Script, TestEnv, caller, look, not_ready, pass};
use crate::ports::Frame;
use crate::routing::catalogue::{ModelCatalogue, SearchDepth, SearchProvider};
use crate::routing::target::{Addresses, Protection, ProviderType};
use crate::rules::GroupRules;
use crate::tools::web_search::SearchResult;

const ANSWER: &str = r#"{"choices":[{"message":{"content":"Fine."},"finish_reason":"stop"}],"usage":{"prompt_tokens":30,"completion_tokens":3}}"#;
const SEARCHES: &str = r#"{"choices":[{"message":{"content":"I look.","tool_calls":[{"id":"a","type":"function","function":{"name":"pia_web_search","arguments":"{\"query\":\"news\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":2}}"#;
const DOWN: UpstreamError = UpstreamError::Unreachable(String::new());

fn refusal(status: u16) -> UpstreamError {
    UpstreamError::Refused { status, retry_after: None, body: Bytes::new() }
}

fn entry(id: &str) -> Target {
    let target = Target::new(ProviderType::OpenAi, "http://h", id).with_key("k1");
    Target { id: Some(id.to_owned()), ..target }
}

/// Returns a search provider with two keys.
fn web() -> SearchProvider {
    SearchProvider {
        id: "web".to_owned(),
        endpoint: "http://h".to_owned(),
        keys: ["s1", "s2"].map(|it| Secret::new(it.to_owned())).into(),
        depth: SearchDepth::Fast,
        protection: Protection::default(),
    }
}

/// Returns a catalogue whose first entry is the default.
fn catalogue(entries: Vec<Target>) -> ModelCatalogue {
    let entries: Vec<_> = entries.into_iter().map(Arc::new).collect();
    ModelCatalogue {
        default: entries.first().cloned(),
        entries,
        searches: vec![Arc::new(web())],
        ..ModelCatalogue::default()
    }
}

fn with_fallback() -> ModelCatalogue {
    let model = Target { fallbacks: vec!["second".to_owned()], ..entry("first") };
    catalogue(vec![model, entry("second")])
}

fn searching() -> ModelCatalogue {
    catalogue(vec![Target { web_search_tool: Some("web".to_owned()), ..entry("first") }])
}

fn chat(env: &TestEnv, catalogue: ModelCatalogue) -> Chat {
    Chat::new(Gateway { catalogue: LiveSetting::new(catalogue), ..env.gateway() })
}

async fn full(env: &TestEnv, with: ModelCatalogue, body: &Value) -> Result<Value, AssistantError> {
    match chat(env, with).answer(caller(), Bytes::from(body.to_string())).await? {
        ChatAnswer::Complete(body) => Ok(serde_json::from_slice(&body).unwrap()),
        ChatAnswer::Stream(_) => panic!("a stream"),
    }
}

async fn stream_text(env: &TestEnv, with: ModelCatalogue, body: &Value) -> String {
    match chat(env, with).answer(caller(), Bytes::from(body.to_string())).await.unwrap() {
        ChatAnswer::Stream(answer) => {
            String::from_utf8(answer.collect::<Vec<_>>().await.concat()).unwrap()
        }
        ChatAnswer::Complete(_) => panic!("no stream"),
    }
}

fn request_body() -> Value {
    json!({ "messages": [{ "role": "user", "content": "12345678" }] })
}

fn stream_body() -> Value {
    let mut body = request_body();
    body["stream"] = json!(true);
    body["stream_options"] = json!({ "include_usage": true });
    body
}

/// Returns the model of each call.
fn called_models(env: &TestEnv) -> Vec<String> {
    env.calls().into_iter().map(|it| it.model).collect()
}

#[tokio::test]
async fn the_fallback_of_an_unavailable_model_answers() {
    for err in [DOWN, refusal(500), refusal(503), refusal(429)] {
        let env = TestEnv::with_scripts(vec![Script::Fails(err), Script::Full(ANSWER)]);

        full(&env, with_fallback(), &request_body()).await.unwrap();

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

        assert!(full(&env, with_fallback(), &request_body()).await.is_err());

        assert_eq!(env.calls().len(), 1);
    }
}

#[tokio::test]
async fn only_a_model_that_may_fetch_gets_addresses() {
    let picture_request = |url: &str| {
        let picture = json!({ "type": "image_url", "image_url": { "url": url } });
        json!({ "messages": [{ "role": "user", "content": [picture] }] })
    };
    let address = picture_request("http://169.254.169.254/latest");
    let inline_picture = picture_request("data:image/png;base64,AA");

    let env = TestEnv::new(Script::Full(ANSWER));
    let refusal = full(&env, with_fallback(), &address).await.unwrap_err();
    let AssistantError::Invalid(violations) = refusal else { panic!("{refusal:?}") };
    assert_eq!(violations[0].field, "messages[0].content[0].image_url.url");
    assert_eq!(violations[0].code, "address_not_allowed");
    full(&env, with_fallback(), &inline_picture).await.unwrap();
    assert_eq!(env.calls().len(), 1);

    // The fallback may not fetch, and is not called.
    let fetching_model = Target {
        addresses: Addresses::PassedOn,
        fallbacks: vec!["second".to_owned()],
        ..entry("first")
    };
    let one_fetches = catalogue(vec![fetching_model, entry("second")]);
    let env = TestEnv::with_scripts(vec![Script::Fails(DOWN), Script::Full(ANSWER)]);
    let err = full(&env, one_fetches, &address).await.unwrap_err();
    assert_eq!(err, AssistantError::UpstreamFailed);
    assert_eq!(env.calls().len(), 1);
}

#[tokio::test]
async fn the_last_refusal_is_returned_without_cost() {
    let env = TestEnv::with_scripts(vec![Script::Fails(DOWN), Script::Fails(refusal(429))]);

    let err = full(&env, with_fallback(), &request_body()).await.unwrap_err();

    assert!(matches!(err, AssistantError::UpstreamBusy { .. }), "{err:?}");
    assert_eq!(env.usage_records(), []);
}

#[tokio::test]
async fn a_stream_falls_back_before_its_first_event_and_never_after() {
    let answer = vec![Ok(pass("data: {\"choices\":[{\"delta\":{}}]}\n\n")), Ok(Frame::Done)];
    let env = TestEnv::with_scripts(vec![Script::Fails(DOWN), Script::Frames(answer)]);
    let stream = stream_text(&env, with_fallback(), &stream_body()).await;
    assert!(
        stream.starts_with("data: {\"choices\":[{\"delta\":{}}]}\n\n")
            && stream.contains(r#""model":"second""#)
    );

    let cut_frames =
        vec![Ok(pass("data: {\"choices\":[{\"delta\":{}}]}\n\n")), Err(UpstreamError::Cut)];
    let env = TestEnv::with_scripts(vec![Script::Frames(cut_frames), Script::Full(ANSWER)]);
    let stream = stream_text(&env, with_fallback(), &stream_body()).await;
    assert!(stream.contains("Bad Gateway"), "{stream}");
    assert_eq!(env.calls().len(), 1);
}

#[tokio::test]
async fn a_refused_key_is_replaced_and_cools_down() {
    let two_keys = catalogue(vec![entry("first").with_key("k2")]);
    let mut scripts = vec![Script::Fails(refusal(401))];
    scripts.extend([ANSWER; 4].map(Script::Full));
    let env = TestEnv::with_scripts(scripts);
    let chat = chat(&env, two_keys);

    for _ in 0..4 {
        chat.answer(caller(), Bytes::from(request_body().to_string())).await.unwrap();
    }

    let keys: Vec<_> = env.calls().into_iter().map(|it| it.key).collect();
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

    full(&env, with_fallback(), &body).await.unwrap();

    assert_eq!(called_models(&env), ["second"]);
}

#[tokio::test]
async fn a_protected_response_starts_with_a_mark() {
    let env = TestEnv::with_scripts(vec![Script::Full(ANSWER)]).protected();
    let answer = full(&env, searching(), &request_body()).await.unwrap();
    assert_eq!(answer["guardrail"], json!({ "protected": true }));

    let frames = vec![Ok(pass("data: {\"choices\":[{\"delta\":{}}]}\n\n")), Ok(Frame::Done)];
    let env = TestEnv::with_scripts(vec![Script::Frames(frames)]).protected();
    let stream = stream_text(&env, searching(), &stream_body()).await;
    assert!(stream.starts_with(
        "data: {\"guardrail\":{\"protected\":true}}\n\ndata: {\"choices\":[{\"delta\":{}}]}\n\n"
    ));
}

#[tokio::test]
async fn a_model_at_its_limit_falls_back_or_has_a_retry_time() {
    let limited = |fallbacks: &[&str]| {
        let protection = Protection { requests_per_minute: Some(1), ..Protection::default() };
        let fallbacks = fallbacks.iter().map(|&it| it.to_owned()).collect();
        catalogue(vec![Target { fallbacks, protection, ..entry("first") }, entry("second")])
    };
    let env = TestEnv::with_scripts([ANSWER, ANSWER].map(Script::Full).into());
    let with_fallback = chat(&env, limited(&["second"]));
    for _ in 0..2 {
        with_fallback.answer(caller(), Bytes::from(request_body().to_string())).await.unwrap();
    }
    assert_eq!(called_models(&env), ["first", "second"]);

    let env = TestEnv::with_scripts([ANSWER, ANSWER].map(Script::Full).into());
    let without_fallback = chat(&env, limited(&[]));
    without_fallback.answer(caller(), Bytes::from(request_body().to_string())).await.unwrap();
    let mut second_call =
        Box::pin(without_fallback.answer(caller(), Bytes::from(request_body().to_string())));
    not_ready(&mut second_call).await;
    env.advance(Duration::from_secs(5));
    let err = second_call.await.err().unwrap();
    let retry_after = Duration::from_secs(55);
    assert_eq!(err, AssistantError::UpstreamLimitReached { retry_after });
    assert_eq!(env.usage_records().len(), 1);
}

#[path = "stream/start_tests.rs"]
mod stream_starts;

#[path = "tools/searching_tests.rs"]
mod searching;

#[path = "turn_stream_tests.rs"]
mod streams;

#[path = "turn_tools_tests.rs"]
mod tools;
