//! Models that a search calls: one ranks passages, and one rewrites questions.

use pia_server_testkit::ai_client::CHAT;
use pia_server_testkit::ai_peer::{Fixed, Peer, response};
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{create_base, ingest, knowing};

on_both_databases!(
    passages_reach_the_model_in_the_order_of_the_reranker,
    a_question_that_follows_another_is_searched_for_as_it_was_rewritten,
);

const ANSWER: &str = r#"{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}"#;
const RULES: [&str; 3] = ["blue", "green", "white"];

/// Configures a server with another provider that answers at this endpoint.
fn asking(database: TestDatabase, upstream: &Fixed, endpoint: &str) -> TestConfig {
    knowing(database)
        .with_upstream(&upstream.endpoint)
        .with("Ai__Providers__0__Id", "helper")
        .with("Ai__Providers__0__ProviderType", "OpenAICompatible")
        .with("Ai__Providers__0__Endpoint", endpoint)
        .with("Ai__Providers__0__ApiKey", "sk-helper")
        .with("Ai__Providers__0__Model", "helper-model")
}

/// Starts a server that knows the rules, with a reranker at this endpoint.
async fn ranking(database: TestDatabase, upstream: &Fixed, endpoint: &str) -> TestApp {
    let app = asking(database, upstream, endpoint)
        .with("Rerank__ProviderId", "helper")
        .with("Rerank__TimeoutSeconds", 1)
        .start()
        .await;
    let travel = create_base(&app, "Travel", "default").await;
    for rule in RULES {
        let text = format!("The ticket for a railway journey is {rule}.");
        ingest(&app, &travel, &format!("Rule {rule}"), &text).await;
    }
    app
}

/// Sends a conversation and returns the last request of the upstream.
async fn forwarded(app: &TestApp, upstream: &Fixed, messages: &Value) -> Value {
    let client = app.signed_in().await;
    let answer = client.post(CHAT, &json!({ "messages": messages })).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    serde_json::from_str(&upstream.calls().last().expect("a call").text()).expect("JSON")
}

/// Asks for tickets, and returns the order in which the rules reach the model.
async fn order(app: &TestApp, upstream: &Fixed) -> Vec<&'static str> {
    let question = "Which ticket do I need for a railway journey?";
    let messages = json!([{ "role": "user", "content": question }]);
    let request = forwarded(app, upstream, &messages).await;
    order_in(&request["messages"][0]["content"].to_string())
}

fn order_in(text: &str) -> Vec<&'static str> {
    let mut rules = RULES.to_vec();
    assert!(rules.iter().all(|it| text.contains(it)), "{text}");
    rules.sort_by_key(|it| text.find(it));
    rules
}

async fn passages_reach_the_model_in_the_order_of_the_reranker(database: TestDatabase) {
    let upstream = Fixed::with_json(ANSWER).await;
    let results = [0, 1, 2].map(|at| json!({ "index": at, "relevance_score": f64::from(at) }));
    let reversing = Fixed::with_json(&json!({ "results": results }).to_string()).await;
    let app = ranking(database, &upstream, &reversing.endpoint).await;

    let ranked = order(&app, &upstream).await;

    let call = reversing.call();
    assert!(call.head.starts_with("POST /v1/rerank "), "{}", call.head);
    assert!(call.head.contains("Bearer sk-helper"), "{}", call.head);

    let body: Value = serde_json::from_str(&call.text()).expect("JSON");
    assert_eq!(body["model"], "helper-model");
    assert_eq!(body["top_n"], 3);
    assert_eq!(body["query"], "Which ticket do I need for a railway journey?");

    let mut sent_order = order_in(&body["documents"].to_string());
    sent_order.reverse();
    assert_eq!(ranked, sent_order);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reranker_that_fails_changes_nothing() {
    let upstream = Fixed::with_json(ANSWER).await;
    let doubled = r#"{"results":[{"index":2,"relevance_score":3},{"index":2,"relevance_score":2},
        {"index":0,"relevance_score":1}]}"#;
    for reranker in [
        Fixed::with_response(response("500 Internal Server Error", "", "")).await,
        Fixed::with_json(doubled).await,
    ] {
        let app = ranking(TestDatabase::sqlite(), &upstream, &reranker.endpoint).await;

        let unranked = order(&app, &upstream).await;

        let body: Value = serde_json::from_str(&reranker.call().text()).expect("JSON");
        assert_eq!(unranked, order_in(&body["documents"].to_string()));
    }
    let silent = Peer::start().await;
    let app = ranking(TestDatabase::sqlite(), &upstream, &silent.endpoint).await;
    assert_eq!(order(&app, &upstream).await.len(), 3);
}

async fn a_question_that_follows_another_is_searched_for_as_it_was_rewritten(
    database: TestDatabase,
) {
    let upstream = Fixed::with_json(ANSWER).await;
    let rewritten = json!({ "content": "Which class may guests book for a railway journey?" });
    let body = json!({ "choices": [{ "message": rewritten, "finish_reason": "stop" }] });
    let rewriting = Fixed::with_json(&body.to_string()).await;
    let app = asking(database, &upstream, &rewriting.endpoint)
        .with("Knowledge__Question__ProviderId", "helper")
        .start()
        .await;
    let travel = create_base(&app, "Travel", "default").await;
    ingest(&app, &travel, "Rules", "Guests may book first class for a railway journey.").await;
    let follow_up = "And what about those whom we have invited?";
    let messages = json!([
        { "role": "system", "content": "Be kind." },
        { "role": "user", "content": "Is my train free?" },
        { "role": "assistant", "content": "It is." },
        { "role": "user", "content": follow_up },
    ]);

    let first_body =
        forwarded(&app, &upstream, &json!([{ "role": "user", "content": follow_up }])).await;
    assert!(!first_body.to_string().contains("first class"), "{first_body}");
    assert!(rewriting.calls().is_empty(), "no question came before");
    let second_body = forwarded(&app, &upstream, &messages).await;

    assert!(second_body["messages"][0].to_string().contains("first class"), "{second_body}");
    assert!(second_body["messages"].to_string().contains(follow_up), "{second_body}");
    let material = rewriting.call().text();
    assert!(material.contains("Is my train free?") && material.contains(follow_up), "{material}");
    assert!(!material.contains("Be kind."), "{material}");
}
