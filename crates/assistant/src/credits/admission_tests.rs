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
use crate::fakes::{self, Script, Surroundings, caller, look, pass};
use crate::gateway::Gateway;
use crate::ports::{CapName, Frame, OutputCap, UpstreamError};
use crate::routing::catalogue::ModelCatalogue;
use crate::routing::target::Target;
use crate::rules::{ApiKeyBudget, GroupRules};
use crate::tools::UpstreamTool;

const ANSWER: &str = r#"{"choices":[{"message":{"content":"Hi"}}],
    "usage":{"prompt_tokens":40,"completion_tokens":60}}"#;

fn limited(hourly: i64) -> GroupRules {
    let credits = CreditLimits { hourly, ..CreditLimits::default() };
    GroupRules { credits, free: true, ..GroupRules::default() }
}

async fn ask(
    around: &Surroundings,
    caller: AiCaller,
    more: &str,
) -> Result<ChatAnswer, AssistantError> {
    ask_with(around, CreditSettings::default(), caller, more).await
}

/// Something that makes a prompt longer by some eight hundred tokens.
fn long() -> String {
    format!(r#","tools":[{{"type":"function","description":"{}"}}]"#, "x".repeat(3200))
}

async fn ask_with(
    around: &Surroundings,
    settings: CreditSettings,
    caller: AiCaller,
    more: &str,
) -> Result<ChatAnswer, AssistantError> {
    let mut gateway = around.gateway();
    gateway.credits = LiveSetting::new(settings);
    let body = format!(r#"{{"messages":[{{"role":"user","content":"Good day"}}]{more}}}"#);
    Chat::new(gateway).answer(caller, Bytes::from(body)).await
}

#[tokio::test]
async fn a_call_that_nothing_limits_calls_nobody_and_keeps_its_cap() {
    let around = Surroundings::new(Script::Whole(ANSWER));

    drop(ask(&around, caller(), r#","max_completion_tokens":70"#).await.unwrap());

    assert_eq!(around.requests(), []);
    let cap = OutputCap { tokens: 70, name: Some(CapName::MaxCompletionTokens) };
    assert_eq!(around.call().max_output, Some(cap));
    assert_eq!(around.noted().len(), 1);
}

#[tokio::test]
async fn a_call_without_a_cap_has_that_of_the_operator_alone() {
    let bounded = CreditSettings { max_output: Some(500), ..CreditSettings::default() };
    let mut caps = Vec::new();
    for settings in [CreditSettings::default(), bounded] {
        let around = Surroundings::new(Script::Whole(ANSWER));
        drop(ask_with(&around, settings, caller(), "").await.unwrap());
        caps.push(around.call().max_output.map(|it| it.tokens));
    }

    assert_eq!(caps, [None, Some(500)]);
}

#[tokio::test]
async fn a_call_out_of_a_budget_is_capped_and_settled_with_its_usage() {
    let around = Surroundings::new(Script::Whole(ANSWER));
    let around = around.with_rules(limited(3));

    drop(ask(&around, caller(), r#","max_tokens":9000"#).await.unwrap());

    // Four letters are a token, and the message itself four.
    assert_eq!(around.requests()[0].prompt, 6);
    let cap = OutputCap { tokens: 2994, name: Some(CapName::MaxTokens) };
    assert_eq!(around.call().max_output, Some(cap));
    let [settled] = around.settled().try_into().unwrap();
    assert_eq!(settled.lines[0].amount, Micros::credits(3));
    assert_eq!(settled.spent, Micros(100_000));
    let usage = settled.usage.unwrap();
    assert_eq!((usage.spent, usage.outcome), (Micros(100_000), CallOutcome::Completed));
}

/// A model that runs searches for seven credits each.
fn searching() -> ModelCatalogue {
    let tool = UpstreamTool { kind: "web_search".to_owned(), price: Micros::credits(7) };
    let target = Target { upstream_tools: vec![tool], ..Target::clone(&fakes::target("m")) };
    ModelCatalogue { default: Some(Arc::new(target)), ..ModelCatalogue::default() }
}

#[tokio::test]
async fn each_tool_of_the_upstream_is_reserved_and_charged_used_or_not() {
    let two = r#","tools":[{"type":"web_search"},{"type":"web_search"}],"max_tokens":500"#;
    let body = format!(r#"{{"messages":[{{"role":"user","content":"Good day"}}]{two}}}"#);
    let mut outcomes = Vec::new();
    for hourly in [14, 20] {
        let around = Surroundings::new(Script::Whole(ANSWER)).with_rules(limited(hourly));
        let gateway = Gateway { catalogue: LiveSetting::new(searching()), ..around.gateway() };

        let answer = Chat::new(gateway).answer(caller(), Bytes::from(body.clone())).await;

        assert_eq!(around.requests()[0].fee, Micros::credits(14));
        outcomes.push((answer.is_ok(), around.settled().first().map(|it| it.spent)));
    }

    // ANSWER reports a hundred tokens, and needs some when it is requested.
    let spent = Micros::credits(14).plus(Micros(100_000));
    assert_eq!(outcomes, [(false, None), (true, Some(spent))]);
}

#[tokio::test]
async fn a_call_that_failed_for_nothing_gives_all_of_it_back() {
    let refused = UpstreamError::Unreachable("away".to_owned());
    let around = Surroundings::new(Script::Fails(refused));
    let around = around.with_rules(limited(3));

    assert!(ask(&around, caller(), "").await.is_err());

    let [settled] = around.settled().try_into().unwrap();
    assert_eq!((settled.spent, settled.usage), (Micros(0), None));
}

#[tokio::test]
async fn a_stream_whose_reader_leaves_is_settled_on_what_was_streamed() {
    let chunk = "data: {\"choices\":[{\"delta\":{\"content\":\"twelve chars\"}}]}\n\n";
    let frames: Vec<_> = vec![Ok(pass(chunk)), Ok(pass(chunk))];
    let around = Surroundings::new(Script::FramesAndSilence(frames));
    let around = around.with_rules(limited(30));

    let ChatAnswer::Stream(mut answer) = ask(&around, caller(), r#","stream":true"#).await.unwrap()
    else {
        panic!("a stream was asked for")
    };
    futures_util::StreamExt::next(&mut answer).await.unwrap();
    futures_util::StreamExt::next(&mut answer).await.unwrap();
    drop(answer);

    let [settled] = around.settled().try_into().unwrap();
    assert_eq!(settled.spent, Micros((6 + 6) * 1000));
    let usage = settled.usage.unwrap();
    assert_eq!((usage.outcome, usage.estimated), (CallOutcome::Abandoned, true));
}

#[tokio::test]
async fn hidden_tokens_are_charged() {
    let reported = r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5000,
        "completion_tokens_details":{"reasoning_tokens":4000}}}"#;
    let stop = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    let frames = vec![Ok(look(stop)), Ok(look(reported)), Ok(Frame::Done)];
    let around = Surroundings::new(Script::Frames(frames)).with_rules(limited(3));

    let ChatAnswer::Stream(mut answer) = ask(&around, caller(), r#","stream":true"#).await.unwrap()
    else {
        panic!("a stream was asked for")
    };
    while futures_util::StreamExt::next(&mut answer).await.is_some() {}
    drop(answer);

    let [settled] = around.settled().try_into().unwrap();
    assert_eq!(settled.spent, Micros(5_010_000));
    assert_eq!(settled.hidden(), Micros(2_010_000));
}

#[tokio::test]
async fn more_than_was_reserved_is_charged_for_nothing_that_was_not_hidden() {
    let reported = [
        // More than we made of the prompt, and beyond the cap.
        (r#"{"prompt_tokens":9000,"completion_tokens":10}"#, 3_000_000, 6_010_000),
        (r#"{"prompt_tokens":10,"completion_tokens":5000}"#, 3_000_000, 2_010_000),
        // The same beside what was hidden, which is charged.
        (
            r#"{"prompt_tokens":9000,"completion_tokens":1010,
                "completion_tokens_details":{"reasoning_tokens":1000}}"#,
            4_000_000,
            6_010_000,
        ),
        (r#"{"prompt_tokens":2000,"completion_tokens":1000}"#, 3_000_000, 0),
    ];
    for (usage, spent, uncharged) in reported {
        let answer = format!(r#"{{"choices":[{{"message":{{"content":"Hi"}}}}],"usage":{usage}}}"#);
        let around = Surroundings::new(Script::Whole(answer.leak())).with_rules(limited(3));

        drop(ask(&around, caller(), "").await.unwrap());

        let [settled] = around.settled().try_into().unwrap();
        assert_eq!((settled.spent, settled.uncharged()), (Micros(spent), Micros(uncharged)));
        // What is written down is what it cost.
        let cost = settled.usage.map(|it| it.spent);
        assert_eq!(cost, Some(Micros(spent + uncharged)), "{usage}");
    }
}

#[tokio::test]
async fn a_budget_that_is_used_up_refuses_before_anything_is_sent() {
    let around = Surroundings::new(Script::Whole(ANSWER));
    let around = around.with_rules(limited(1));

    let Err(AssistantError::OverBudget(refusal)) = ask(&around, caller(), &long()).await else {
        panic!("there is not enough for an answer")
    };

    assert_eq!(refusal.period, Period::Budget(BudgetPeriod::Hourly));
    assert!(around.settled().is_empty() && around.noted().is_empty());
}

#[tokio::test]
async fn nobody_is_refused_for_what_their_group_stated_before() {
    let around = Surroundings::new(Script::Whole(ANSWER));
    let around = around.with_rules(limited(1)).with_fresh_rules(limited(5));

    drop(ask(&around, caller(), &long()).await.unwrap());

    let requested: Vec<_> = around.requests().iter().map(|it| it.holder.limits.hourly).collect();
    assert_eq!(requested, [1, 5]);
}

#[tokio::test]
async fn those_who_do_not_pay_are_not_served_while_that_is_suspended() {
    let around = Surroundings::new(Script::Whole(ANSWER));
    let around = around.with_rules(limited(0));
    let suspended = FreeTier { suspended: true, group: None };
    let settings = CreditSettings { free_tier: suspended, ..CreditSettings::default() };

    let Err(AssistantError::OverBudget(refusal)) = ask_with(&around, settings, caller(), "").await
    else {
        panic!("the free tier is suspended")
    };

    assert_eq!((refusal.period, refusal.gauge), (Period::FreeTierSuspended, None));
}

#[tokio::test]
async fn a_key_with_a_purse_is_limited_though_its_owner_is_not() {
    let around = Surroundings::new(Script::Whole(ANSWER));
    let purse = ApiKeyBudget { key: ApiKeyId::generate(), weekly: 2 };

    drop(ask(&around, AiCaller { key: Some(purse), ..caller() }, "").await.unwrap());

    let [settled] = around.settled().try_into().unwrap();
    assert_eq!(settled.lines[0].window.owner, purse.key.0);
    assert_eq!(settled.usage.unwrap().key, Some(purse.key));
}
