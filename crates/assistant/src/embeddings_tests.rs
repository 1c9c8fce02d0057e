//! Requests for vectors, and what they cost.

use pia_kernel::{CreditLimits, LiveSetting};

use super::*;
use crate::credits::usage::CallOutcome;
use crate::error::AssistantError;
use crate::fakes::{self, Script, Surroundings, caller};
use crate::ports::UpstreamError;
use crate::request::surface::Surface;
use crate::routing::catalogue::ModelCatalogue;
use crate::rules::GroupRules;

const ANSWER: &str = r#"{"object":"list","data":[{"embedding":[0.5],"index":0}],
    "usage":{"prompt_tokens":40,"total_tokens":40}}"#;
const REQUEST: &str = r#"{"model":"Small","input":["a text","another"],"user":"x",
    "encoding_format":"base64","dimensions":256}"#;

fn rules(hourly: i64) -> GroupRules {
    let credits = CreditLimits { hourly, ..CreditLimits::default() };
    GroupRules { credits, models: vec!["small".to_owned()], ..GroupRules::default() }
}

fn gateway(around: &Surroundings) -> Gateway {
    let small = Target {
        id: Some("small".to_owned()),
        ..Target::clone(&fakes::target("text-embedding")).with_key("second")
    };
    let catalogue =
        ModelCatalogue { embedders: vec![Arc::new(small)], ..ModelCatalogue::default() };
    Gateway { catalogue: LiveSetting::new(catalogue), ..around.gateway() }
}

async fn embed(around: &Surroundings, body: &str) -> Result<Bytes, AssistantError> {
    Embeddings::new(gateway(around)).answer(caller(), body.as_bytes()).await
}

#[tokio::test]
async fn a_request_goes_on_as_far_as_it_counts_and_its_answer_as_it_came() {
    let around = Surroundings::new(Script::Whole(ANSWER)).with_rules(rules(0));

    let answer = embed(&around, REQUEST).await.unwrap();

    assert_eq!(answer, ANSWER);
    let sent = r#"{"input":["a text","another"],"encoding_format":"base64","dimensions":256"#;
    assert_eq!(around.sent(), sent);
    assert_eq!(around.call().max_output, None);
    let [record] = around.noted().try_into().unwrap();
    assert_eq!((record.model.as_str(), record.entry.as_deref()), ("text-embedding", Some("small")));
    assert_eq!((record.tokens.input, record.tokens.output), (40, 0));
    assert_eq!((record.outcome, record.estimated), (CallOutcome::Completed, false));
}

#[tokio::test]
async fn its_tokens_are_reserved_and_settled_as_the_upstream_reports_them() {
    let around = Surroundings::new(Script::Whole(ANSWER)).with_rules(rules(3));

    let request = format!(r#"{{"model":"small","input":"{}"}}"#, "x".repeat(100));
    embed(&around, &request).await.unwrap();

    let [ask] = around.requests().try_into().unwrap();
    assert_eq!(ask.prompt, 25);
    let [settled] = around.settled().try_into().unwrap();
    // A thousand tokens are a credit; 40 were reported, and up to 50 reserved.
    assert_eq!(settled.lines[0].amount, Micros(50_000));
    assert_eq!(settled.spent, Micros(40_000));
}

#[tokio::test]
async fn who_has_nothing_left_is_refused_before_the_upstream_is_called() {
    let around = Surroundings::new(Script::Whole(ANSWER)).with_rules(rules(1));
    let long = format!(r#"{{"model":"small","input":"{}"}}"#, "word ".repeat(100_000));

    let refused = embed(&around, &long).await;

    assert!(matches!(refused, Err(AssistantError::OverBudget(_))), "{refused:?}");
    assert_eq!((around.calls().len(), around.noted().len()), (0, 0));
}

#[tokio::test]
async fn tokens_count_as_such() {
    let around = Surroundings::new(Script::Whole(ANSWER)).with_rules(rules(3));

    embed(&around, r#"{"model":"small","input":[[1,2,3],[4]]}"#).await.unwrap();

    assert_eq!(around.requests()[0].prompt, 4);
}

#[tokio::test]
async fn only_an_embedding_model_that_the_group_may_name_is_called() {
    let around = Surroundings::new(Script::Whole(ANSWER)).with_rules(GroupRules::default());
    let refused = embed(&around, REQUEST).await;
    let around = Surroundings::new(Script::Whole(ANSWER)).with_rules(rules(0));
    let unknown = embed(&around, r#"{"model":"m","input":"x"}"#).await;

    assert!(matches!(refused, Err(AssistantError::UnknownModel)), "{refused:?}");
    assert!(matches!(unknown, Err(AssistantError::UnknownModel)), "{unknown:?}");
    let gateway = gateway(&around);
    let listed = async |surface| gateway.models(AiCaller { surface, ..caller() }).await.unwrap();
    assert_eq!(listed(Surface::OpenAi).await, ["small"]);
    assert!(listed(Surface::Desktop).await.is_empty(), "nobody can talk to it");
}

#[tokio::test]
async fn a_key_that_is_refused_is_followed_by_the_next_and_nothing_is_required_for_it() {
    let refused = UpstreamError::Refused { status: 429, retry_after: None, body: Bytes::new() };
    let scripts = vec![Script::Fails(refused), Script::Whole(ANSWER)];
    let around = Surroundings::with_scripts(scripts).with_rules(rules(0));

    embed(&around, REQUEST).await.unwrap();

    assert_eq!((around.calls().len(), around.noted().len()), (2, 1));
}

#[tokio::test]
async fn an_answer_without_vectors_is_none() {
    for (answer, required) in [
        ("{}", 0),
        (r#"{"data":[]}"#, 0),
        ("no JSON", 0),
        (r#"{"data":[],"usage":{"prompt_tokens":3}}"#, 1),
    ] {
        let around = Surroundings::new(Script::Whole(answer)).with_rules(rules(0));

        let failed = embed(&around, REQUEST).await;

        assert!(matches!(failed, Err(AssistantError::UpstreamFailed)), "{answer}: {failed:?}");
        assert_eq!(around.noted().len(), required, "{answer}");
    }
}

#[test]
fn what_is_wrong_is_reported_by_its_member() {
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
        let Err(AssistantError::Invalid(wrong)) = parse(body.as_bytes()) else { panic!("{body}") };

        let reported: Vec<_> = wrong.iter().map(|it| it.field.as_str()).collect();
        assert_eq!(reported, fields, "{body}");
    }
    let many = format!(r#"{{"model":"small","input":["a"{}]}}"#, r#","a""#.repeat(MAX_INPUTS));
    assert!(parse(many.as_bytes()).is_err());
    let null = r#"{"model":"small","input":"x","dimensions":null,"encoding_format":null}"#;
    assert_eq!(parse(null.as_bytes()).unwrap().body, r#"{"input":"x""#);
}
