//! Tests of reservation, admission, refusal and settlement.

use std::sync::Arc;

use bytes::Bytes;
use pia_kernel::{ApiKeyId, BudgetPeriod, CreditLimits, LiveSetting};

use crate::ai_caller::AiCaller;
use crate::chat::{Chat, ChatAnswer};
use crate::credits::rates::Micros;
use crate::credits::usage::CallOutcome;
use crate::credits::{CreditSettings, FreeTier, Period};
use crate::error::AssistantError;
use crate::fakes::{self, Script, TestEnv, caller, look, pass};
use crate::gateway::Gateway;
use crate::ports::{CapName, Frame, OutputCap, UpstreamError};
use crate::routing::catalogue::ModelCatalogue;
use crate::routing::target::Target;
use crate::rules::{ApiKeyBudget, GroupRules};
use crate::tools::UpstreamTool;

/// Cost of a token at the rates of the fake model: a thousandth of a credit.
const TOKEN: i64 = 1_000;
/// Tokens of the prompt `Good day`: four characters are a token, and the message counts four.
const PROMPT_TOKENS: i64 = 6;

/// Response that reports a hundred tokens.
const ANSWER: &str = r#"{"choices":[{"message":{"content":"Hi"}}],
    "usage":{"prompt_tokens":40,"completion_tokens":60}}"#;

fn rules_with_hourly_limit(hourly: i64) -> GroupRules {
    let credits = CreditLimits { hourly, ..CreditLimits::default() };
    GroupRules { credits, free: true, ..GroupRules::default() }
}

async fn send(
    env: &TestEnv,
    caller: AiCaller,
    members: &str,
) -> Result<ChatAnswer, AssistantError> {
    send_with(env, CreditSettings::default(), caller, members).await
}

/// Returns members that lengthen a prompt by some eight hundred tokens.
fn long_tools() -> String {
    format!(r#","tools":[{{"type":"function","description":"{}"}}]"#, "x".repeat(3200))
}

async fn send_with(
    env: &TestEnv,
    settings: CreditSettings,
    caller: AiCaller,
    members: &str,
) -> Result<ChatAnswer, AssistantError> {
    let mut gateway = env.gateway();
    gateway.credits = LiveSetting::new(settings);
    let body = format!(r#"{{"messages":[{{"role":"user","content":"Good day"}}]{members}}}"#);
    Chat::new(gateway).answer(caller, Bytes::from(body)).await
}

#[tokio::test]
async fn an_unlimited_call_makes_no_admission_request_and_keeps_its_cap() {
    let env = TestEnv::new(Script::Full(ANSWER));

    drop(send(&env, caller(), r#","max_completion_tokens":70"#).await.unwrap());

    assert_eq!(env.requests(), []);
    let cap = OutputCap { tokens: 70, name: Some(CapName::MaxCompletionTokens) };
    assert_eq!(env.call().max_output, Some(cap));
    assert_eq!(env.usage_records().len(), 1);
}

#[tokio::test]
async fn a_call_without_a_cap_has_only_that_of_the_operator() {
    let bounded = CreditSettings { max_output: Some(500), ..CreditSettings::default() };
    let mut caps = Vec::new();
    for settings in [CreditSettings::default(), bounded] {
        let env = TestEnv::new(Script::Full(ANSWER));
        drop(send_with(&env, settings, caller(), "").await.unwrap());
        caps.push(env.call().max_output.map(|it| it.tokens));
    }

    assert_eq!(caps, [None, Some(500)]);
}

#[tokio::test]
async fn a_limited_call_is_capped_and_settled_with_its_usage() {
    let env = TestEnv::new(Script::Full(ANSWER)).with_rules(rules_with_hourly_limit(3));

    drop(send(&env, caller(), r#","max_tokens":9000"#).await.unwrap());

    assert_eq!(env.requests()[0].prompt, PROMPT_TOKENS);
    // Three credits are 3,000 tokens.
    let cap = OutputCap { tokens: 3_000 - PROMPT_TOKENS, name: Some(CapName::MaxTokens) };
    assert_eq!(env.call().max_output, Some(cap));
    let [settlement] = env.settlements().try_into().unwrap();
    assert_eq!(settlement.lines[0].amount, Micros::credits(3));
    assert_eq!(settlement.spent, Micros(100 * TOKEN));
    let usage = settlement.usage.unwrap();
    assert_eq!(usage.spent, Micros(100 * TOKEN));
    assert_eq!(usage.outcome, CallOutcome::Completed);
}

/// Returns a catalogue with a model that runs searches for seven credits each.
fn searching() -> ModelCatalogue {
    let tool = UpstreamTool { kind: "web_search".to_owned(), price: Micros::credits(7) };
    let target = Target { upstream_tools: vec![tool], ..Target::clone(&fakes::target("m")) };
    ModelCatalogue { default: Some(Arc::new(target)), ..ModelCatalogue::default() }
}

#[tokio::test]
async fn each_upstream_tool_is_reserved_and_charged_even_if_unused() {
    let tools = r#","tools":[{"type":"web_search"},{"type":"web_search"}],"max_tokens":500"#;
    let body = format!(r#"{{"messages":[{{"role":"user","content":"Good day"}}]{tools}}}"#);
    let mut outcomes = Vec::new();
    for hourly in [14, 20] {
        let env = TestEnv::new(Script::Full(ANSWER)).with_rules(rules_with_hourly_limit(hourly));
        let gateway = Gateway { catalogue: LiveSetting::new(searching()), ..env.gateway() };

        let answer = Chat::new(gateway).answer(caller(), Bytes::from(body.clone())).await;

        assert_eq!(env.requests()[0].fee, Micros::credits(14));
        outcomes.push((answer.is_ok(), env.settlements().first().map(|it| it.spent)));
    }

    // A reservation for the tokens must fit, too.
    let spent = Micros::credits(14).plus(Micros(100 * TOKEN));
    assert_eq!(outcomes, [(false, None), (true, Some(spent))]);
}

#[tokio::test]
async fn a_failed_call_without_cost_releases_its_reservation() {
    let unreachable = UpstreamError::Unreachable("away".to_owned());
    let env = TestEnv::new(Script::Fails(unreachable)).with_rules(rules_with_hourly_limit(3));

    assert!(send(&env, caller(), "").await.is_err());

    let [settlement] = env.settlements().try_into().unwrap();
    assert_eq!(settlement.spent, Micros(0));
    assert_eq!(settlement.usage, None);
}

#[tokio::test]
async fn a_stream_whose_reader_leaves_is_settled_by_its_streamed_tokens() {
    const CHUNK_TOKENS: i64 = 3;
    let chunk = "data: {\"choices\":[{\"delta\":{\"content\":\"twelve chars\"}}]}\n\n";
    let frames: Vec<_> = vec![Ok(pass(chunk)), Ok(pass(chunk))];
    let env =
        TestEnv::new(Script::FramesAndSilence(frames)).with_rules(rules_with_hourly_limit(30));

    let ChatAnswer::Stream(mut answer) = send(&env, caller(), r#","stream":true"#).await.unwrap()
    else {
        panic!("a stream was asked for")
    };
    futures_util::StreamExt::next(&mut answer).await.unwrap();
    futures_util::StreamExt::next(&mut answer).await.unwrap();
    drop(answer);

    let [settlement] = env.settlements().try_into().unwrap();
    assert_eq!(settlement.spent, Micros((PROMPT_TOKENS + 2 * CHUNK_TOKENS) * TOKEN));
    let usage = settlement.usage.unwrap();
    assert_eq!(usage.outcome, CallOutcome::Abandoned);
    assert!(usage.estimated);
}

#[tokio::test]
async fn hidden_tokens_are_charged() {
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5000,
        "completion_tokens_details":{"reasoning_tokens":4000}}}"#;
    let stop = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    let frames = vec![Ok(look(stop)), Ok(look(usage)), Ok(Frame::Done)];
    let env = TestEnv::new(Script::Frames(frames)).with_rules(rules_with_hourly_limit(3));

    let ChatAnswer::Stream(answer) = send(&env, caller(), r#","stream":true"#).await.unwrap()
    else {
        panic!("a stream was asked for")
    };
    drop(futures_util::StreamExt::collect::<Vec<_>>(answer).await);

    let [settlement] = env.settlements().try_into().unwrap();
    assert_eq!(settlement.spent, Micros((10 + 5_000) * TOKEN));
    // Hidden tokens are charged beyond the three credits that were reserved.
    assert_eq!(settlement.hidden(), Micros((10 + 5_000 - 3_000) * TOKEN));
}

#[tokio::test]
async fn only_hidden_tokens_are_charged_beyond_the_reservation() {
    let cases = [
        // More than the estimate of the prompt, and beyond the cap.
        (r#"{"prompt_tokens":9000,"completion_tokens":10}"#, 3_000_000, 6_010_000),
        (r#"{"prompt_tokens":10,"completion_tokens":5000}"#, 3_000_000, 2_010_000),
        // The same beside hidden tokens, which are charged.
        (
            r#"{"prompt_tokens":9000,"completion_tokens":1010,
                "completion_tokens_details":{"reasoning_tokens":1000}}"#,
            4_000_000,
            6_010_000,
        ),
        (r#"{"prompt_tokens":2000,"completion_tokens":1000}"#, 3_000_000, 0),
    ];
    for (usage, spent, uncharged) in cases {
        let answer = format!(r#"{{"choices":[{{"message":{{"content":"Hi"}}}}],"usage":{usage}}}"#);
        let env = TestEnv::new(Script::Full(answer.leak())).with_rules(rules_with_hourly_limit(3));

        drop(send(&env, caller(), "").await.unwrap());

        let [settlement] = env.settlements().try_into().unwrap();
        assert_eq!(settlement.spent, Micros(spent), "{usage}");
        assert_eq!(settlement.uncharged_cost(), Micros(uncharged), "{usage}");
        // The record has the full cost.
        let cost = settlement.usage.map(|it| it.spent);
        assert_eq!(cost, Some(Micros(spent + uncharged)), "{usage}");
    }
}

#[tokio::test]
async fn an_exhausted_budget_refuses_before_anything_is_sent() {
    let env = TestEnv::new(Script::Full(ANSWER)).with_rules(rules_with_hourly_limit(1));
    let Err(AssistantError::OverBudget(refusal)) = send(&env, caller(), &long_tools()).await else {
        panic!("there is not enough for an answer")
    };

    assert_eq!(refusal.period, Period::Budget(BudgetPeriod::Hourly));
    assert!(env.settlements().is_empty() && env.usage_records().is_empty());
}

#[tokio::test]
async fn a_refusal_is_checked_against_fresh_rules() {
    let env = TestEnv::new(Script::Full(ANSWER))
        .with_rules(rules_with_hourly_limit(1))
        .with_fresh_rules(rules_with_hourly_limit(5));

    drop(send(&env, caller(), &long_tools()).await.unwrap());

    let limits: Vec<_> = env.requests().iter().map(|it| it.holder.limits.hourly).collect();
    assert_eq!(limits, [1, 5]);
}

#[tokio::test]
async fn free_users_are_refused_while_the_free_tier_is_suspended() {
    let env = TestEnv::new(Script::Full(ANSWER)).with_rules(rules_with_hourly_limit(0));
    let suspended = FreeTier { suspended: true, group: None };
    let settings = CreditSettings { free_tier: suspended, ..CreditSettings::default() };

    let Err(AssistantError::OverBudget(refusal)) = send_with(&env, settings, caller(), "").await
    else {
        panic!("the free tier is suspended")
    };

    assert_eq!(refusal.period, Period::FreeTierSuspended);
    assert_eq!(refusal.gauge, None);
}

#[tokio::test]
async fn a_key_with_a_budget_is_limited_even_if_its_owner_is_not() {
    let env = TestEnv::new(Script::Full(ANSWER));
    let budget = ApiKeyBudget { key: ApiKeyId::generate(), weekly: 2 };

    drop(send(&env, AiCaller { key: Some(budget), ..caller() }, "").await.unwrap());

    let [settlement] = env.settlements().try_into().unwrap();
    assert_eq!(settlement.lines[0].window.owner, budget.key.0);
    assert_eq!(settlement.usage.unwrap().key, Some(budget.key));
}
