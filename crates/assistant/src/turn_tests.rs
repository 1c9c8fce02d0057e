//! Tests of fallbacks, keys and server tools.

use futures_util::StreamExt;
use pia_kernel::LiveSetting;
use serde_json::{Value, json};

use super::*;
use crate::chat::{Chat, ChatAnswer};
use crate::credits::rates::Micros;
use crate::credits::usage::CallOutcome;
use crate::fakes::{Script, TestEnv, caller, look, not_ready, pass};
use crate::ports::Frame;
use crate::routing::catalogue::{ModelCatalogue, SearchDepth, SearchProvider};
use crate::routing::target::{Addresses, Protection, ProviderType};
use crate::rules::GroupRules;
use crate::tools::UpstreamTool;
use crate::tools::web_search::SearchResult;

const ANSWER: &str = r#"{"choices":[{"message":{"content":"Fine."},"finish_reason":"stop"}],"usage":{"prompt_tokens":30,"completion_tokens":3}}"#;
const SEARCHES: &str = r#"{"choices":[{"message":{"content":"I look.","tool_calls":[{"id":"a","type":"function","function":{"name":"pia_web_search","arguments":"{\"query\":\"news\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":2}}"#;
const LOOKS: &str = r#"{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"pia_look_at_picture","arguments":"{\"picture\":1,\"question\":\"what?\"}"}}]}}]}"#;
const PICTURE_ANSWER: &str = r#"{"choices":[{"message":{"content":"A cat."}}]}"#;
const DOWN: UpstreamError = UpstreamError::Unreachable(String::new());

fn refused(status: u16) -> UpstreamError {
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
    let first = Target { fallbacks: vec!["second".to_owned()], ..entry("first") };
    catalogue(vec![first, entry("second")])
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

async fn streamed(env: &TestEnv, with: ModelCatalogue, body: &Value) -> String {
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

fn models(env: &TestEnv) -> Vec<(String, String)> {
    env.calls().into_iter().map(|(model, key, _)| (model, key)).collect()
}

#[tokio::test]
async fn the_fallback_of_an_unavailable_model_answers() {
    for err in [DOWN, refused(500), refused(503), refused(429)] {
        let env = TestEnv::with_scripts(vec![Script::Fails(err), Script::Full(ANSWER)]);

        full(&env, with_fallback(), &request_body()).await.unwrap();

        let called_models: Vec<_> = models(&env).into_iter().map(|it| it.0).collect();
        assert_eq!(called_models, ["first", "second"]);
        let [record] = env.usage_records().try_into().unwrap();
        assert_eq!((record.model.as_str(), record.outcome), ("second", CallOutcome::Completed));
    }
}

#[tokio::test]
async fn invalid_and_running_calls_are_not_repeated() {
    for err in [refused(400), refused(404), refused(422), UpstreamError::Silent, UpstreamError::Cut]
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
    let fetching = |id: &str| Target { addresses: Addresses::PassedOn, ..entry(id) };
    let first = Target { fallbacks: vec!["second".to_owned()], ..fetching("first") };
    let address = picture_request("http://169.254.169.254/latest");

    let env = TestEnv::new(Script::Full(ANSWER));
    let refused = full(&env, with_fallback(), &address).await.unwrap_err();
    full(&env, with_fallback(), &picture_request("data:image/png;base64,AA")).await.unwrap();
    let fetched = TestEnv::with_scripts(vec![Script::Fails(DOWN), Script::Full(ANSWER)]);
    let no_other = catalogue(vec![first, entry("second")]);
    let down = full(&fetched, no_other, &address).await.unwrap_err();

    let AssistantError::Invalid(violations) = refused else { panic!("{refused:?}") };
    assert_eq!(
        (violations[0].field.as_str(), violations[0].code),
        ("messages[0].content[0].image_url.url", "address_not_allowed")
    );
    assert_eq!(env.calls().len(), 1);
    // The fallback may not fetch, and is not called.
    assert_eq!((down, models(&fetched).len()), (AssistantError::UpstreamFailed, 1));
}

/// Returns a tool at this price.
fn upstream_tool(kind: &str, credits: i64) -> UpstreamTool {
    UpstreamTool { kind: kind.to_owned(), price: Micros::credits(credits) }
}

fn body_with_tools(tools: &Value) -> Value {
    let mut body = request_body();
    body["tools"] = tools.clone();
    body
}

#[tokio::test]
async fn an_upstream_tool_is_run_only_if_it_is_priced() {
    let searches = vec![upstream_tool("web_search", 5)];
    let fallbacks = vec!["second".to_owned()];
    let first = Target { upstream_tools: searches, fallbacks, ..entry("first") };
    let with = || catalogue(vec![first.clone(), entry("second")]);
    let tools = json!([{ "type": "function" }, { "type": "web_search" }]);
    let env = TestEnv::with_scripts(vec![Script::Fails(DOWN), Script::Full(ANSWER)]);

    let unpriced = json!([{ "type": "web_search" }, { "type": "mcp" }]);
    let refused = full(&env, with(), &body_with_tools(&unpriced)).await.unwrap_err();
    let down = full(&env, with(), &body_with_tools(&tools)).await.unwrap_err();
    full(&env, with(), &body_with_tools(&tools)).await.unwrap();

    let AssistantError::Invalid(violations) = refused else { panic!("{refused:?}") };
    let violations: Vec<_> = violations.iter().map(|it| (it.field.as_str(), it.code)).collect();
    assert_eq!(violations, [("tools[1].type", "tool_not_allowed")]);
    // The fallback may not run it, and is not called.
    assert_eq!((down, models(&env).len()), (AssistantError::UpstreamFailed, 2));
    assert_eq!(env.calls()[1].2["tools"], tools);
    assert_eq!(env.usage_records()[0].spent, Micros::credits(5).plus(Micros(33_000)));
}

#[tokio::test]
async fn the_last_refusal_is_returned_without_cost() {
    let env = TestEnv::with_scripts(vec![Script::Fails(DOWN), Script::Fails(refused(429))]);

    let err = full(&env, with_fallback(), &request_body()).await.unwrap_err();

    assert!(matches!(err, AssistantError::UpstreamBusy { .. }), "{err:?}");
    assert_eq!(env.usage_records(), []);
}

#[tokio::test]
async fn a_stream_falls_back_before_its_first_event_and_never_after() {
    let answer = vec![Ok(pass("data: {\"choices\":[{\"delta\":{}}]}\n\n")), Ok(Frame::Done)];
    let env = TestEnv::with_scripts(vec![Script::Fails(DOWN), Script::Frames(answer)]);
    let stream = streamed(&env, with_fallback(), &stream_body()).await;
    assert!(
        stream.starts_with("data: {\"choices\":[{\"delta\":{}}]}\n\n")
            && stream.contains(r#""model":"second""#)
    );

    let cut = vec![Ok(pass("data: {\"choices\":[{\"delta\":{}}]}\n\n")), Err(UpstreamError::Cut)];
    let env = TestEnv::with_scripts(vec![Script::Frames(cut), Script::Full(ANSWER)]);
    let stream = streamed(&env, with_fallback(), &stream_body()).await;
    assert!(stream.contains("Bad Gateway"), "{stream}");
    assert_eq!(env.calls().len(), 1);
}

#[tokio::test]
async fn a_refused_key_is_replaced_and_cools_down() {
    let two_keys = || catalogue(vec![entry("first").with_key("k2")]);
    let scripts = (0..5).map(|at| match at {
        0 => Script::Fails(refused(401)),
        _ => Script::Full(ANSWER),
    });
    let env = TestEnv::with_scripts(scripts.collect());
    let chat = chat(&env, two_keys());
    for _ in 0..4 {
        chat.answer(caller(), Bytes::from(request_body().to_string())).await.unwrap();
    }

    let keys: Vec<_> = models(&env).into_iter().map(|it| it.1).collect();
    let (refused, rest) = keys.split_first().unwrap();
    assert!(rest.iter().all(|it| it != refused), "{keys:?}");
    assert_eq!(rest.len(), 4);
}

#[tokio::test]
async fn a_search_is_run_by_the_server_and_hidden_from_the_caller() {
    let found = SearchResult {
        title: "Rust".to_owned(),
        url: "https://rust-lang.org".to_owned(),
        text: "news".to_owned(),
    };
    let env = TestEnv::with_scripts(vec![Script::Full(SEARCHES), Script::Full(ANSWER)])
        .with_results(Ok(vec![found]));

    let answer = full(&env, searching(), &request_body()).await.unwrap();

    assert_eq!(answer["choices"][0]["message"], json!({ "content": "Fine." }));
    assert_eq!(answer["usage"]["prompt_tokens"], 40);
    assert_eq!(answer["usage"]["completion_tokens"], 5);
    assert_eq!(env.searches().len(), 1);
    assert_eq!(env.searches()[0].0, "news");
    let calls = env.calls();
    assert_eq!(calls[0].2["tools"][0]["function"]["name"], "pia_web_search");
    let messages = calls[1].2["messages"].as_array().unwrap();
    let roles: Vec<_> = messages.iter().map(|it| it["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool"]);
    assert_eq!(
        (&messages[1]["content"], &messages[2]["tool_call_id"]),
        (&json!("I look."), &json!("a"))
    );
    assert!(messages[2]["content"].as_str().unwrap().contains("[Rust](https://rust-lang.org)"));
    let usage_records: Vec<_> =
        env.usage_records().iter().map(|it| (it.tokens.input, it.outcome)).collect();
    assert_eq!(usage_records, [(10, CallOutcome::Completed), (30, CallOutcome::Completed)]);
}

#[tokio::test]
async fn the_rounds_of_searches_are_limited() {
    let scripts = (0..5).map(|_| Script::Full(SEARCHES)).chain([Script::Full(SEARCHES)]);
    let env = TestEnv::with_scripts(scripts.collect());

    let answer = full(&env, searching(), &request_body()).await.unwrap();

    // The sixth call declares no tools, and its tool calls are not the
    // caller's.
    assert_eq!(env.searches().len(), 5);
    assert!(env.calls()[5].2.get("tools").is_none());
    assert!(answer["choices"][0]["message"].get("tool_calls").is_none());
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
}

#[tokio::test]
async fn a_picture_is_described_by_the_vision_model() {
    let blind = Target { vision: false, vision_tool: Some("eyes".to_owned()), ..entry("first") };
    let scripts = [LOOKS, PICTURE_ANSWER, ANSWER].map(Script::Full);
    let env = TestEnv::with_scripts(scripts.into());
    let picture =
        json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AA" } });
    let body = json!({ "messages": [{ "role": "user", "content": [picture] }] });

    full(&env, catalogue(vec![blind, entry("eyes")]), &body).await.unwrap();

    let calls = env.calls();
    let called_models: Vec<_> = calls.iter().map(|it| it.0.as_str()).collect();
    assert_eq!(called_models, ["first", "eyes", "first"]);
    assert!(!calls[0].2.to_string().contains("base64"));
    let content = &calls[1].2["messages"][0]["content"];
    assert_eq!(content, &json!([{ "type": "text", "text": "what?" }, picture]));
    assert_eq!(calls[2].2["messages"][2]["content"], "A cat.");
    assert_eq!(env.usage_records().len(), 3);
}

#[tokio::test]
async fn a_picture_is_described_by_the_vision_models_fallback() {
    let blind = Target { vision: false, vision_tool: Some("eyes".to_owned()), ..entry("first") };
    let fallbacks = ["dark", "other"].map(str::to_owned).into();
    let eyes = Target { fallbacks, ..entry("eyes") };
    let dark = Target { vision: false, ..entry("dark") };
    let picture =
        json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AA" } });
    let body = json!({ "messages": [{ "role": "user", "content": [picture] }] });
    let scripts = vec![
        Script::Full(LOOKS),
        Script::Fails(DOWN),
        Script::Full(PICTURE_ANSWER),
        Script::Full(ANSWER),
    ];
    let env = TestEnv::with_scripts(scripts);

    full(&env, catalogue(vec![blind, eyes, dark, entry("other")]), &body).await.unwrap();

    let called_models: Vec<_> = models(&env).into_iter().map(|it| it.0).collect();
    assert_eq!(called_models, ["first", "eyes", "other", "first"]);
    assert_eq!(env.calls()[3].2["messages"][2]["content"], "A cat.");
    let usage_records: Vec<_> = env.usage_records().iter().map(|it| it.model.clone()).collect();
    assert_eq!(usage_records, ["first", "other", "first"]);
}

#[tokio::test]
async fn tool_calls_of_the_caller_are_returned() {
    const CALLS: &str = r#"{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"read_file","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    let env = TestEnv::with_scripts(vec![Script::Full(CALLS)]);
    let mut body = request_body();
    body["tools"] = json!([{ "type": "function", "function": { "name": "read_file" } }]);

    let answer = full(&env, searching(), &body).await.unwrap();

    let call = &answer["choices"][0]["message"]["tool_calls"][0];
    assert_eq!(call["function"]["name"], "read_file");
    assert_eq!(env.calls()[0].2["tools"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn the_groups_rules_choose_the_model() {
    let rules = GroupRules { models: vec!["second".to_owned()], ..GroupRules::default() };
    let env = TestEnv::with_scripts(vec![Script::Full(ANSWER)]).with_rules(rules);
    let mut body = request_body();
    body["model"] = json!("second");

    full(&env, with_fallback(), &body).await.unwrap();

    assert_eq!(models(&env)[0].0, "second");
}

#[tokio::test]
async fn a_protected_response_starts_with_a_mark() {
    let env = TestEnv::with_scripts(vec![Script::Full(ANSWER)]).protected();
    let answer = full(&env, searching(), &request_body()).await.unwrap();
    assert_eq!(answer["guardrail"], json!({ "protected": true }));

    let frames = vec![Ok(pass("data: {\"choices\":[{\"delta\":{}}]}\n\n")), Ok(Frame::Done)];
    let env = TestEnv::with_scripts(vec![Script::Frames(frames)]).protected();
    let stream = streamed(&env, searching(), &stream_body()).await;
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
    let called_models: Vec<_> = models(&env).into_iter().map(|it| it.0).collect();
    assert_eq!(called_models, ["first", "second"]);

    let env = TestEnv::with_scripts([ANSWER, ANSWER].map(Script::Full).into());
    let alone = chat(&env, limited(&[]));
    alone.answer(caller(), Bytes::from(request_body().to_string())).await.unwrap();
    let mut second = Box::pin(alone.answer(caller(), Bytes::from(request_body().to_string())));
    not_ready(&mut second).await;
    env.advance(Duration::from_secs(5));
    let err = second.await.err().unwrap();
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
