//! Tests of searches of knowledge bases in a turn.

use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use pia_kernel::{DocumentId, KnowledgeBaseId, LiveSetting, Unavailable};
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::chat::{Chat, ChatAnswer};
use crate::fakes::{Script, TestEnv, caller, target};
use crate::knowledge::MockKnowledge;
use crate::ports::UpstreamError;
use crate::routing::target::TimedTarget;
use crate::settings::Settings;

const DOCUMENT: DocumentId = DocumentId(Uuid::from_u128(7));
const ANSWER: &str = r#"{"choices":[{"message":{"role":"assistant","content":"Second class."}}]}"#;
const CALL: &str = r#"{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[
    {"id":"c1","type":"function","function":{"name":"pia_search_knowledge",
     "arguments":"{\"query\":\"railway class\"}"}}]},"finish_reason":"tool_calls"}]}"#;

fn passage() -> KnowledgePassage {
    KnowledgePassage {
        document: DOCUMENT,
        title: "Travel".to_owned(),
        url: "https://pia.example/kb/1".to_owned(),
        path: String::new(),
        text: "Second class only.".to_owned(),
    }
}

fn base() -> KnowledgeSummary {
    KnowledgeSummary {
        id: KnowledgeBaseId(Uuid::nil()),
        name: "Travel".to_owned(),
        prompt: Some("Rules.".to_owned()),
    }
}

/// Returns knowledge that records these searches of a turn, and whose search
/// finds something only for questions with the word "railway".
fn recording(expected: TurnSearches) -> MockKnowledge {
    let mut knowledge = MockKnowledge::new();
    knowledge.expect_bases().returning(|_| Ok(vec![base()]));
    knowledge.expect_search().returning(|_, _, question| {
        Ok(if question.contains("railway") { vec![passage(), passage()] } else { Vec::new() })
    });
    let is_expected = move |_: &KnowledgeScope, bases: &[KnowledgeSummary], it: &TurnSearches| {
        bases == [base()] && *it == expected
    };
    knowledge.expect_record().withf(is_expected).once().return_const(());
    knowledge
}

/// Returns knowledge with one base, which is read once, and one passage for any
/// question.
fn knowledge() -> MockKnowledge {
    let mut knowledge = MockKnowledge::new();
    knowledge.expect_bases().once().returning(|_| Ok(vec![base()]));
    knowledge.expect_search().returning(|_, bases, _| {
        assert_eq!(bases, [base()]);
        Ok(vec![passage()])
    });
    knowledge.expect_record().return_const(());
    knowledge
}

/// Sends a question. Returns the body of each call of the model.
async fn sent(knowledge: MockKnowledge, mode: KnowledgeMode, scripts: Vec<Script>) -> Vec<Value> {
    let env = TestEnv::with_scripts(scripts);
    let settings = LiveSetting::new(Settings { knowledge: mode, ..Settings::default() });
    let gateway = Gateway { knowledge: Arc::new(knowledge), settings, ..env.gateway() };
    let question = json!({ "role": "user", "content": "Which class may I book for my journey?" });
    let body = Bytes::from(json!({ "messages": [question] }).to_string());
    let answer = Chat::new(gateway).answer(caller(), body).await.unwrap();
    let ChatAnswer::Complete(answer) = answer else { panic!("a full response was requested") };
    assert!(String::from_utf8_lossy(&answer).contains("Second class."));
    env.calls().into_iter().map(|it| it.body).collect()
}

fn has_tool(body: &Value) -> bool {
    body["tools"].to_string().contains("pia_search_knowledge")
}

fn has_passages(body: &Value) -> bool {
    body["messages"][0]["content"].as_str().is_some_and(|it| it.contains("> Second class only."))
}

#[tokio::test]
async fn passages_are_added_up_front_and_the_search_is_a_tool() {
    for (mode, expected) in [
        (KnowledgeMode::UpFront, (true, false)),
        (KnowledgeMode::Tool, (false, true)),
        (KnowledgeMode::Both, (true, true)),
    ] {
        let calls = sent(knowledge(), mode, vec![Script::Full(ANSWER)]).await;
        assert_eq!(calls.len(), 1);
        assert_eq!((has_passages(&calls[0]), has_tool(&calls[0])), expected, "{mode:?}");
    }
}

#[tokio::test]
async fn a_call_of_the_tool_is_answered_with_passages() {
    // The search up front and that of the tool share one scope.
    let scripts = vec![Script::Full(CALL), Script::Full(ANSWER)];
    let calls = sent(knowledge(), KnowledgeMode::Both, scripts).await;
    let result = calls[1]["messages"][3]["content"].as_str().unwrap();
    assert!(result.contains("[Travel](https://pia.example/kb/1)"), "{result}");
    assert!(result.contains("never an instruction"));
}

#[tokio::test]
async fn a_question_is_answered_if_any_search_of_the_turn_finds_something() {
    let knowledge = recording(TurnSearches::Found(vec![DOCUMENT]));
    let scripts = vec![Script::Full(CALL), Script::Full(CALL), Script::Full(ANSWER)];

    let calls = sent(knowledge, KnowledgeMode::Both, scripts).await;

    assert!(!has_passages(&calls[0]), "the search up front finds nothing");
}

#[tokio::test]
async fn all_questions_of_a_turn_that_finds_nothing_are_recorded() {
    let call: &str = Box::leak(CALL.replace("railway class", "first class").into());
    let missed = ["Which class may I book for my journey?", "first class"].map(str::to_owned);
    let knowledge = recording(TurnSearches::Missed(missed.to_vec()));

    sent(knowledge, KnowledgeMode::Both, vec![Script::Full(call), Script::Full(ANSWER)]).await;
}

#[tokio::test]
async fn a_turn_without_a_search_records_nothing() {
    let mut knowledge = MockKnowledge::new();
    knowledge.expect_bases().returning(|_| Ok(vec![base()]));
    knowledge.expect_record().never();

    sent(knowledge, KnowledgeMode::Tool, vec![Script::Full(ANSWER)]).await;
}

#[tokio::test]
async fn a_failure_leaves_the_turn_without_passages() {
    let failure = || Unavailable::new("knowledge", "test");
    let mut without_bases = MockKnowledge::new();
    without_bases.expect_bases().returning(move |_| Err(failure()));
    let calls = sent(without_bases, KnowledgeMode::Both, vec![Script::Full(ANSWER)]).await;
    assert!(!has_tool(&calls[0]));

    let mut without_search = MockKnowledge::new();
    without_search.expect_bases().returning(|_| Ok(vec![base()]));
    without_search.expect_search().returning(move |_, _, _| Err(failure()));
    let scripts = vec![Script::Full(CALL), Script::Full(ANSWER)];
    let calls = sent(without_search, KnowledgeMode::Both, scripts).await;
    let result = calls[1]["messages"][2]["content"].as_str().unwrap();
    assert!(!has_passages(&calls[0]) && result.contains("failed"), "{result}");
}

#[tokio::test]
async fn a_caller_without_bases_gets_neither() {
    let mut knowledge = MockKnowledge::new();
    knowledge.expect_bases().once().returning(|_| Ok(Vec::new()));
    let calls = sent(knowledge, KnowledgeMode::Both, vec![Script::Full(ANSWER)]).await;
    assert!(!has_tool(&calls[0]) && !has_passages(&calls[0]));
}

/// Asks a question that refers to the one before, with a model that rewrites it.
/// Returns the question that was searched for.
async fn search_question(rewriting: Script, waits: bool) -> String {
    let env = TestEnv::with_scripts(vec![rewriting, Script::Full(ANSWER)]);
    let mut knowledge = MockKnowledge::new();
    let searched = Arc::<Mutex<String>>::default();
    let searched_by_mock = Arc::clone(&searched);
    knowledge.expect_bases().returning(|_| Ok(vec![base()]));
    knowledge.expect_search().once().returning(move |_, _, question| {
        question.clone_into(&mut searched_by_mock.lock().unwrap());
        Ok(Vec::new())
    });
    knowledge.expect_record().return_const(());
    let question_model =
        Some(TimedTarget { target: target("rewriter"), timeout: Duration::from_secs(3) });
    let gateway = Gateway { knowledge: Arc::new(knowledge), question_model, ..env.gateway() };
    let messages = json!([
        { "role": "user", "content": "Who pays for tickets?" },
        { "role": "assistant", "content": "We do." },
        { "role": "user", "content": "And for guests?" },
    ]);
    let body = Bytes::from(json!({ "messages": messages }).to_string());
    let chat = Chat::new(gateway);
    let wait = async {
        if waits {
            env.advance(Duration::from_secs(3));
        }
    };
    let (answer, ()) = tokio::join!(chat.answer(caller(), body), wait);
    answer.unwrap();
    let calls = env.calls();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0].model, "rewriter");
    let material = calls[0].body["messages"][1]["content"].as_str().unwrap();
    assert!(material.contains("We do.") && material.contains("And for guests?"), "{material}");
    searched.lock().unwrap().clone()
}

#[tokio::test]
async fn a_question_that_follows_another_is_rewritten() {
    let rewritten = r#"{"choices":[{"message":{"content":" Who pays for guests'\ntickets? "}}]}"#;
    assert_eq!(
        search_question(Script::Full(rewritten), false).await,
        "Who pays for guests' tickets?"
    );
}

#[tokio::test]
async fn a_question_that_could_not_be_rewritten_is_read_with_the_one_before() {
    let expected = "Who pays for tickets?\nAnd for guests?";
    let refusal = UpstreamError::Refused { status: 500, retry_after: None, body: Bytes::new() };
    let long: &str = Box::leak(
        format!(r#"{{"choices":[{{"message":{{"content":"{}"}}}}]}}"#, "x".repeat(1001)).into(),
    );
    for (script, waits) in [
        (Script::Fails(refusal), false),
        (Script::Full(r#"{"choices":[]}"#), false),
        (Script::Full(r#"{"choices":[{"message":{"content":null}}]}"#), false),
        (Script::Full(long), false),
        (Script::Silence, true),
    ] {
        assert_eq!(search_question(script, waits).await, expected);
    }
}
