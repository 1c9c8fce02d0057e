//! Requests for embeddings, and their cost.

use pia_kernel::{CreditLimits, LiveSetting};

use super::*;
use crate::credits::usage::CallOutcome;
use crate::error::AssistantError;
use crate::fakes::{self, Script, TestEnv, caller};
use crate::ports::UpstreamError;
use crate::request::surface::Surface;
use crate::routing::catalogue::ModelCatalogue;
use crate::rules::GroupRules;

const ANSWER: &str = r#"{"object":"list","data":[{"embedding":[0.5],"index":0}],
    "usage":{"prompt_tokens":40,"total_tokens":40}}"#;
/// Response with two vectors in Base64.
const PAIR: &str = r#"{"object":"list","data":[{"embedding":"AAAAPw==","index":0},
    {"embedding":"AACAPw==","index":1}],"usage":{"prompt_tokens":40,"total_tokens":40}}"#;
const REQUEST: &str = r#"{"model":"Small","input":["a text","another"],"user":"x",
    "encoding_format":"base64","dimensions":256}"#;

fn rules(hourly: i64) -> GroupRules {
    let credits = CreditLimits { hourly, ..CreditLimits::default() };
    GroupRules { credits, models: vec!["small".to_owned()], ..GroupRules::default() }
}

fn gateway(env: &TestEnv) -> Gateway {
    let small = Target {
        id: Some("small".to_owned()),
        ..Target::clone(&fakes::target("text-embedding")).with_key("second")
    };
    let catalogue =
        ModelCatalogue { embedders: vec![Arc::new(small)], ..ModelCatalogue::default() };
    Gateway { catalogue: LiveSetting::new(catalogue), ..env.gateway() }
}

async fn embed(env: &TestEnv, body: &str) -> Result<Bytes, AssistantError> {
    Embeddings::new(gateway(env)).answer(caller(), body.as_bytes()).await
}

#[tokio::test]
async fn known_members_are_sent_and_the_response_is_unchanged() {
    let env = TestEnv::new(Script::Full(PAIR)).with_rules(rules(0));

    let answer = embed(&env, REQUEST).await.unwrap();

    assert_eq!(answer, PAIR);
    let sent_body = r#"{"input":["a text","another"],"encoding_format":"base64","dimensions":256"#;
    assert_eq!(env.sent(), sent_body);
    assert_eq!(env.call().max_output, None);
    let [record] = env.usage_records().try_into().unwrap();
    assert_eq!(record.model, "text-embedding");
    assert_eq!(record.entry.as_deref(), Some("small"));
    assert_eq!(record.tokens.input, 40);
    assert_eq!(record.tokens.output, 0);
    assert_eq!(record.outcome, CallOutcome::Completed);
    assert!(!record.estimated);
}

#[tokio::test]
async fn tokens_are_reserved_and_settled_as_reported() {
    let env = TestEnv::new(Script::Full(ANSWER)).with_rules(rules(3));

    let request = format!(r#"{{"model":"small","input":"{}"}}"#, "x".repeat(100));
    embed(&env, &request).await.unwrap();

    let [admission] = env.requests().try_into().unwrap();
    assert_eq!(admission.prompt, 25);
    let [settlement] = env.settlements().try_into().unwrap();
    // A thousand tokens are a credit; 40 were reported, and 50 reserved.
    assert_eq!(settlement.lines[0].amount, Micros(50_000));
    assert_eq!(settlement.spent, Micros(40_000));
}

#[tokio::test]
async fn a_caller_without_credits_is_refused_before_the_call() {
    let env = TestEnv::new(Script::Full(ANSWER)).with_rules(rules(1));
    let long_request = format!(r#"{{"model":"small","input":"{}"}}"#, "word ".repeat(100_000));

    let refusal = embed(&env, &long_request).await;

    assert!(matches!(refusal, Err(AssistantError::OverBudget(_))), "{refusal:?}");
    assert!(env.calls().is_empty());
    assert!(env.usage_records().is_empty());
}

#[tokio::test]
async fn token_inputs_are_counted_exactly() {
    let env = TestEnv::new(Script::Full(PAIR)).with_rules(rules(3));

    embed(&env, r#"{"model":"small","input":[[1,2,3],[4]]}"#).await.unwrap();

    assert_eq!(env.requests()[0].prompt, 4);
}

#[tokio::test]
async fn only_an_embedding_model_of_the_group_is_called() {
    let env = TestEnv::new(Script::Full(ANSWER)).with_rules(GroupRules::default());
    let refusal = embed(&env, REQUEST).await;
    let env = TestEnv::new(Script::Full(ANSWER)).with_rules(rules(0));
    let unknown_refusal = embed(&env, r#"{"model":"m","input":"x"}"#).await;

    assert!(matches!(refusal, Err(AssistantError::UnknownModel)), "{refusal:?}");
    assert!(matches!(unknown_refusal, Err(AssistantError::UnknownModel)), "{unknown_refusal:?}");
    let gateway = gateway(&env);
    let listed = async |surface| gateway.models(AiCaller { surface, ..caller() }).await.unwrap();
    assert_eq!(listed(Surface::OpenAi).await, ["small"]);
    assert!(listed(Surface::Desktop).await.is_empty(), "nobody can talk to it");
}

#[tokio::test]
async fn a_refused_key_is_followed_by_the_next_without_cost() {
    let refusal = UpstreamError::Refused { status: 429, retry_after: None, body: Bytes::new() };
    let scripts = vec![Script::Fails(refusal), Script::Full(PAIR)];
    let env = TestEnv::with_scripts(scripts).with_rules(rules(0));

    embed(&env, REQUEST).await.unwrap();

    assert_eq!(env.calls().len(), 2);
    assert_eq!(env.usage_records().len(), 1);
}

#[tokio::test]
async fn vectors_have_the_requested_encoding() {
    let env = TestEnv::new(Script::Full(ANSWER)).with_rules(rules(0));
    let request = r#"{"model":"small","input":"x","encoding_format":"base64"}"#;

    let answer = embed(&env, request).await.unwrap();

    let answer: serde_json::Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer["data"][0]["embedding"], "AAAAPw==");
    assert_eq!(answer["usage"]["prompt_tokens"], 40);
}

#[tokio::test]
async fn a_response_without_vectors_is_a_failure() {
    for (answer, records) in [
        ("{}", 0),
        (r#"{"data":[]}"#, 0),
        ("no JSON", 0),
        (r#"{"data":[],"usage":{"prompt_tokens":3}}"#, 1),
        // One vector for two inputs.
        (ANSWER, 1),
    ] {
        let env = TestEnv::new(Script::Full(answer)).with_rules(rules(0));

        let outcome = embed(&env, REQUEST).await;

        assert!(matches!(outcome, Err(AssistantError::UpstreamFailed)), "{answer}: {outcome:?}");
        assert_eq!(env.usage_records().len(), records, "{answer}");
    }
}

#[test]
fn violations_name_their_member() {
    for (body, fields) in [
        (r#"{"input":"x"}"#, vec!["model"]),
        (r#"{"model":5,"input":"x"}"#, vec!["model"]),
        (r#"{"model":"small"}"#, vec!["input"]),
        (r#"{"model":"small","input":""}"#, vec!["input"]),
        (r#"{"model":"small","input":[]}"#, vec!["input"]),
        (r#"{"model":"small","input":["a",""]}"#, vec!["input"]),
        (r#"{"model":"small","input":[[1],[]]}"#, vec!["input"]),
        (r#"{"model":"small","input":[-1]}"#, vec!["input"]),
        (r#"{"model":"small","input":{"a":1}}"#, vec!["input"]),
        (r#"{"model":"small","input":"x","encoding_format":"hex"}"#, vec!["encoding_format"]),
        (r#"{"model":"small","input":"x","dimensions":0}"#, vec!["dimensions"]),
        ("{}", vec!["model", "input"]),
    ] {
        let Err(AssistantError::Invalid(violations)) = parse(body.as_bytes()) else {
            panic!("{body}")
        };

        let violated_fields: Vec<_> = violations.iter().map(|it| it.field.as_str()).collect();
        assert_eq!(violated_fields, fields, "{body}");
    }
    let oversized_request =
        format!(r#"{{"model":"small","input":["a"{}]}}"#, r#","a""#.repeat(MAX_INPUTS));
    assert!(parse(oversized_request.as_bytes()).is_err());
    let null = r#"{"model":"small","input":"x","dimensions":null,"encoding_format":null}"#;
    assert_eq!(parse(null.as_bytes()).unwrap().body, r#"{"input":"x""#);
}
