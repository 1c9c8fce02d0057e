//! Tests of keys and limits of web searches.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pia_kernel::{LiveSetting, Secret};

use crate::chat::Chat;
use crate::fakes::turns::{
    ANSWER, DOWN, SEARCH_CALL, full_answer, new_chat, refusal, request_body, search_provider,
    send_request, with_search,
};
use crate::fakes::{Script, TestEnv, not_ready};
use crate::gateway::Gateway;
use crate::ports::UpstreamError;
use crate::routing::attempts::Attempts;
use crate::routing::catalogue::{ModelCatalogue, SearchProvider};
use crate::routing::target::Protection;
use crate::routing::upstream_limiter::UpstreamLoad;
use crate::tools::web_search::{SearchResult, WebSearch};

/// Returns an environment for this many turns, in each of which the model
/// searches once.
fn turns(count: usize) -> TestEnv {
    let scripts = (0..count).flat_map(|_| [SEARCH_CALL, ANSWER]).map(Script::Full);
    let search_result = SearchResult {
        title: "Rust".to_owned(),
        url: "https://rust-lang.org".to_owned(),
        text: "It is out.".to_owned(),
    };
    TestEnv::with_scripts(scripts.collect()).with_results(Ok(vec![search_result]))
}

/// Returns the results that the model received, turn by turn.
fn received_results(env: &TestEnv) -> Vec<String> {
    env.calls()
        .into_iter()
        .skip(1)
        .step_by(2)
        .map(|it| it.body["messages"][2]["content"].as_str().unwrap().to_owned())
        .collect()
}

fn used_search_keys(env: &TestEnv) -> Vec<String> {
    env.searches().into_iter().map(|it| it.key).collect()
}

/// Returns the counts of the search, by outcome.
fn search_counts(attempts: &Attempts) -> Vec<(&'static str, u64)> {
    let counts = attempts.of_entry(Some("web")).counts;
    counts.into_iter().map(|(outcome, count)| (outcome.name(), count)).collect()
}

/// Returns a catalogue of a model whose searches have these limits.
fn catalogue_with_limits(protection: Protection) -> ModelCatalogue {
    let search = SearchProvider { protection, ..search_provider() };
    ModelCatalogue { searches: vec![Arc::new(search)], ..with_search() }
}

#[tokio::test]
async fn search_keys_take_turns() {
    let env = turns(4);
    let chat = new_chat(&env, with_search());
    for _ in 0..4 {
        send_request(&chat).await.unwrap();
    }

    let keys = used_search_keys(&env);
    assert_eq!(["s1", "s2"].map(|key| keys.iter().filter(|it| *it == key).count()), [2, 2]);
}

#[tokio::test]
async fn a_refused_search_key_is_replaced_and_cools_down() {
    for (status, outcome) in [(401, "key_refused"), (403, "key_refused"), (429, "busy")] {
        let env = turns(3).with_search_errors(vec![refusal(status)]);
        let gateway = env.gateway();
        let attempts = Arc::clone(&gateway.attempts);
        let chat = Chat::new(Gateway { catalogue: LiveSetting::new(with_search()), ..gateway });
        for _ in 0..3 {
            send_request(&chat).await.unwrap();
        }

        let keys = used_search_keys(&env);
        let (refused_key, later_keys) = keys.split_first().unwrap();
        assert_eq!(later_keys.len(), 3);
        assert!(later_keys.iter().all(|it| it != refused_key), "{keys:?}");
        assert!(received_results(&env).iter().all(|it| it.contains("https://rust-lang.org")));
        let mut counts = search_counts(&attempts);
        counts.sort_unstable();
        assert_eq!(counts, [("answered", 3), (outcome, 1)]);
    }
}

#[tokio::test]
async fn the_next_key_is_tried_if_the_provider_is_unreachable() {
    let env = turns(1).with_search_errors(vec![DOWN]);

    full_answer(&env, with_search(), &request_body()).await.unwrap();

    let keys = used_search_keys(&env);
    assert!(keys.len() == 2 && keys[0] != keys[1], "{keys:?}");
    assert!(received_results(&env)[0].contains("https://rust-lang.org"));
}

#[tokio::test]
async fn other_errors_and_failures_of_all_keys_fail_the_search() {
    for (errors, expected) in [
        (vec![refusal(400)], vec![("refused", 1)]),
        (vec![refusal(500)], vec![("failed", 1)]),
        (vec![UpstreamError::Silent], vec![("silent", 1)]),
        (vec![DOWN, DOWN], vec![("unreachable", 2)]),
        (vec![refusal(429), refusal(401)], vec![("key_refused", 1), ("busy", 1)]),
    ] {
        let env = turns(1).with_search_errors(errors);
        let gateway = env.gateway();
        let attempts = Arc::clone(&gateway.attempts);
        let chat = Chat::new(Gateway { catalogue: LiveSetting::new(with_search()), ..gateway });

        send_request(&chat).await.unwrap();

        assert!(received_results(&env)[0].contains("The search failed"));
        assert_eq!(search_counts(&attempts), expected);
    }
}

#[tokio::test]
async fn searches_beyond_the_limit_per_minute_fail_without_failing_the_turn() {
    let env = turns(2);
    let catalogue =
        catalogue_with_limits(Protection { requests_per_minute: Some(1), ..Protection::default() });
    let gateway = env.gateway();
    let attempts = Arc::clone(&gateway.attempts);
    let chat = Chat::new(Gateway { catalogue: LiveSetting::new(catalogue), ..gateway });
    send_request(&chat).await.unwrap();
    let mut second_turn = Box::pin(send_request(&chat));
    not_ready(&mut second_turn).await;
    assert_eq!(env.calls().len(), 3);

    env.advance(Duration::from_secs(5));
    second_turn.await.unwrap();

    assert_eq!(env.searches().len(), 1);
    let results = received_results(&env);
    assert!(results[0].contains("https://rust-lang.org"), "{results:?}");
    assert!(results[1].contains("The search failed"), "{results:?}");
    // A search without a permit is not an attempt.
    assert_eq!(search_counts(&attempts), [("answered", 1)]);
}

/// Search that never ends.
struct EndlessSearch;

#[async_trait]
impl WebSearch for EndlessSearch {
    async fn search(
        &self,
        _provider: &SearchProvider,
        _key: &Secret<String>,
        _query: &str,
    ) -> Result<Vec<SearchResult>, UpstreamError> {
        pending().await
    }
}

#[tokio::test]
async fn concurrent_searches_are_limited() {
    let answers = [SEARCH_CALL, SEARCH_CALL, ANSWER].map(Script::Full);
    let env = TestEnv::with_scripts(answers.into());
    let catalogue =
        catalogue_with_limits(Protection { concurrent: Some(1), ..Protection::default() });
    let gateway = env.gateway();
    let limiter = Arc::clone(&gateway.upstream_limiter);
    let chat = Chat::new(Gateway {
        catalogue: LiveSetting::new(catalogue),
        search: Arc::new(EndlessSearch),
        ..gateway
    });
    let mut first_turn = Box::pin(send_request(&chat));
    not_ready(&mut first_turn).await;
    let mut second_turn = Box::pin(send_request(&chat));
    not_ready(&mut second_turn).await;
    assert_eq!(limiter.load(), UpstreamLoad { open_calls: 1, waiting_calls: 1 });

    env.advance(Duration::from_secs(5));
    second_turn.await.unwrap();

    let result = env.calls()[2].body["messages"][2]["content"].to_string();
    assert!(result.contains("The search failed"), "{result}");
    drop(first_turn);
    assert_eq!(limiter.load(), UpstreamLoad::default());
}
