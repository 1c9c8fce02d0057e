//! Tests of the tools of a turn.

use serde_json::{Value, json};

use crate::credits::rates::Micros;
use crate::credits::usage::CallOutcome;
use crate::error::AssistantError;
use crate::fakes::turns::{
    ANSWER, DOWN, SEARCH_CALL, called_models, catalogue_of, entry, full_answer, request_body,
    with_search,
};
use crate::fakes::{Script, TestEnv};
use crate::routing::catalogue::ModelCatalogue;
use crate::routing::target::Target;
use crate::tools::UpstreamTool;
use crate::tools::web_search::SearchResult;

const LOOKS: &str = r#"{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"pia_look_at_picture","arguments":"{\"picture\":1,\"question\":\"what?\"}"}}]}}]}"#;

const PICTURE_ANSWER: &str = r#"{"choices":[{"message":{"content":"A cat."}}]}"#;

/// Returns a tool at this price.
fn upstream_tool(kind: &str, credits: i64) -> UpstreamTool {
    UpstreamTool { kind: kind.to_owned(), price: Micros::credits(credits) }
}

fn body_with_tools(tools: &Value) -> Value {
    let mut body = request_body();
    body["tools"] = tools.clone();
    body
}

/// Returns a catalogue of a model that searches for five credits, and its fallback.
fn with_priced_search() -> ModelCatalogue {
    let model = Target {
        upstream_tools: vec![upstream_tool("web_search", 5)],
        fallbacks: vec!["second".to_owned()],
        ..entry("first")
    };
    catalogue_of(vec![model, entry("second")])
}

#[tokio::test]
async fn an_upstream_tool_without_a_price_is_refused() {
    let env = TestEnv::new(Script::Full(ANSWER));
    let tools = json!([{ "type": "web_search" }, { "type": "mcp" }]);

    let err = full_answer(&env, with_priced_search(), &body_with_tools(&tools)).await.unwrap_err();

    let AssistantError::Invalid(violations) = err else { panic!("{err:?}") };
    let [violation] = violations.as_slice() else { panic!("{violations:?}") };
    assert_eq!(violation.field, "tools[1].type");
    assert_eq!(violation.code, "tool_not_allowed");
    assert_eq!(env.calls().len(), 0);
}

#[tokio::test]
async fn an_upstream_tool_with_a_price_is_run_and_charged() {
    let env = TestEnv::new(Script::Full(ANSWER));
    let tools = json!([{ "type": "function" }, { "type": "web_search" }]);

    full_answer(&env, with_priced_search(), &body_with_tools(&tools)).await.unwrap();

    assert_eq!(env.calls()[0].body["tools"], tools);
    assert_eq!(env.usage_records()[0].spent, Micros::credits(5).plus(Micros(33_000)));
}

#[tokio::test]
async fn a_fallback_that_may_not_run_the_tool_is_not_called() {
    let env = TestEnv::with_scripts(vec![Script::Fails(DOWN), Script::Full(ANSWER)]);
    let tools = json!([{ "type": "web_search" }]);

    let err = full_answer(&env, with_priced_search(), &body_with_tools(&tools)).await.unwrap_err();

    assert_eq!(err, AssistantError::UpstreamFailed);
    assert_eq!(called_models(&env), ["first"]);
}

#[tokio::test]
async fn a_search_is_run_by_the_server_and_hidden_from_the_caller() {
    let search_result = SearchResult {
        title: "Rust".to_owned(),
        url: "https://rust-lang.org".to_owned(),
        text: "news".to_owned(),
    };
    let env = TestEnv::with_scripts(vec![Script::Full(SEARCH_CALL), Script::Full(ANSWER)])
        .with_results(Ok(vec![search_result]));

    let answer = full_answer(&env, with_search(), &request_body()).await.unwrap();

    assert_eq!(answer["choices"][0]["message"], json!({ "content": "Fine." }));
    assert_eq!(answer["usage"]["prompt_tokens"], 40);
    assert_eq!(answer["usage"]["completion_tokens"], 5);
    assert_eq!(env.searches().len(), 1);
    assert_eq!(env.searches()[0].query, "news");
    let calls = env.calls();
    assert_eq!(calls[0].body["tools"][0]["function"]["name"], "pia_web_search");
    let messages = calls[1].body["messages"].as_array().unwrap();
    let roles: Vec<_> = messages.iter().map(|it| it["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool"]);
    assert_eq!(messages[1]["content"], "I look.");
    assert_eq!(messages[2]["tool_call_id"], "a");
    assert!(messages[2]["content"].as_str().unwrap().contains("[Rust](https://rust-lang.org)"));
    let usage_records: Vec<_> =
        env.usage_records().iter().map(|it| (it.tokens.input, it.outcome)).collect();
    assert_eq!(usage_records, [(10, CallOutcome::Completed), (30, CallOutcome::Completed)]);
}

#[tokio::test]
async fn the_rounds_of_searches_are_limited() {
    let env = TestEnv::with_scripts([SEARCH_CALL; 6].map(Script::Full).into());

    let answer = full_answer(&env, with_search(), &request_body()).await.unwrap();

    // The sixth call declares no tools, and its tool calls are not the
    // caller's.
    assert_eq!(env.searches().len(), 5);
    assert!(env.calls()[5].body.get("tools").is_none());
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

    full_answer(&env, catalogue_of(vec![blind, entry("eyes")]), &body).await.unwrap();

    let calls = env.calls();
    assert_eq!(called_models(&env), ["first", "eyes", "first"]);
    assert!(!calls[0].body.to_string().contains("base64"));
    let content = &calls[1].body["messages"][0]["content"];
    assert_eq!(content, &json!([{ "type": "text", "text": "what?" }, picture]));
    assert_eq!(calls[2].body["messages"][2]["content"], "A cat.");
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

    full_answer(&env, catalogue_of(vec![blind, eyes, dark, entry("other")]), &body).await.unwrap();

    assert_eq!(called_models(&env), ["first", "eyes", "other", "first"]);
    assert_eq!(env.calls()[3].body["messages"][2]["content"], "A cat.");
    let usage_records: Vec<_> = env.usage_records().iter().map(|it| it.model.clone()).collect();
    assert_eq!(usage_records, ["first", "other", "first"]);
}

#[tokio::test]
async fn tool_calls_of_the_caller_are_returned() {
    const CALLS: &str = r#"{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"read_file","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    let env = TestEnv::with_scripts(vec![Script::Full(CALLS)]);
    let mut body = request_body();
    body["tools"] = json!([{ "type": "function", "function": { "name": "read_file" } }]);

    let answer = full_answer(&env, with_search(), &body).await.unwrap();

    let call = &answer["choices"][0]["message"]["tool_calls"][0];
    assert_eq!(call["function"]["name"], "read_file");
    assert_eq!(env.calls()[0].body["tools"].as_array().unwrap().len(), 2);
}
