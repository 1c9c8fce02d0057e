//! With which keys, and how often, the web is searched for a model.

use std::future::pending;

use async_trait::async_trait;

use super::*;
use crate::routing::attempts::Attempts;
use crate::tools::web_search::WebSearch;

/// Returns the messages around so many turns, in each of which the model
/// searches once.
fn turns(how_many: usize) -> Surroundings {
    let scripts = (0..how_many).flat_map(|_| [SEARCHES, ANSWER]).map(Script::Whole);
    let text = "It is out.".to_owned();
    let found =
        SearchResult { title: "Rust".to_owned(), url: "https://rust-lang.org".to_owned(), text };
    Surroundings::with_scripts(scripts.collect()).with_found(Ok(vec![found]))
}

fn ask(chat: &Chat) -> impl Future<Output = Result<ChatAnswer, AssistantError>> {
    chat.answer(caller(), Bytes::from(request_body().to_string()))
}

/// Returns the results that the model received, turn by turn.
fn sent_bodies(around: &Surroundings) -> Vec<String> {
    let calls = around.calls().into_iter().skip(1).step_by(2);
    calls.map(|it| it.2["messages"][2]["content"].as_str().unwrap().to_owned()).collect()
}

fn keys(around: &Surroundings) -> Vec<String> {
    around.searched().into_iter().map(|it| it.1).collect()
}

/// Returns the counts of the search, by outcome.
fn counted(attempts: &Attempts) -> Vec<(&'static str, u64)> {
    let counts = attempts.counts().into_iter().filter(|(entry, ..)| entry == "web");
    counts.map(|(_, outcome, count)| (outcome.name(), count)).collect()
}

/// The catalogue of a model whose searches are bounded so.
fn limited(protection: Protection) -> ModelCatalogue {
    let search = SearchProvider { protection, ..web() };
    ModelCatalogue { searches: vec![Arc::new(search)], ..searching() }
}

#[tokio::test]
async fn keys_of_a_search_take_turns() {
    let around = turns(4);
    let chat = chat(&around, searching());
    for _ in 0..4 {
        ask(&chat).await.unwrap();
    }

    let keys = keys(&around);
    assert_eq!(["s1", "s2"].map(|key| keys.iter().filter(|it| *it == key).count()), [2, 2]);
}

#[tokio::test]
async fn a_key_of_a_search_that_is_refused_makes_room_for_the_next_and_rests() {
    for (status, outcome) in [(401, "key_refused"), (403, "key_refused"), (429, "busy")] {
        let around = turns(3).with_unfound(vec![refused(status)]);
        let gateway = around.gateway();
        let attempts = Arc::clone(&gateway.attempts);
        let chat = Chat::new(Gateway { catalogue: LiveSetting::new(searching()), ..gateway });
        for _ in 0..3 {
            ask(&chat).await.unwrap();
        }

        let keys = keys(&around);
        let (refused, others) = keys.split_first().unwrap();
        assert!(others.len() == 3 && others.iter().all(|it| it != refused), "{keys:?}");
        assert!(sent_bodies(&around).iter().all(|it| it.contains("https://rust-lang.org")));
        let mut counted = counted(&attempts);
        counted.sort_unstable();
        assert_eq!(counted, [("answered", 3), (outcome, 1)]);
    }
}

#[tokio::test]
async fn where_nobody_was_reached_the_next_key_is_tried() {
    let around = turns(1).with_unfound(vec![DOWN]);

    whole(&around, searching(), &request_body()).await.unwrap();

    let keys = keys(&around);
    assert!(keys.len() == 2 && keys[0] != keys[1], "{keys:?}");
    assert!(sent_bodies(&around)[0].contains("https://rust-lang.org"));
}

#[tokio::test]
async fn what_is_no_keys_fault_or_that_of_all_is_reported_as_a_failed_search() {
    for (errors, expected) in [
        (vec![refused(400)], vec![("refused", 1)]),
        (vec![refused(500)], vec![("failed", 1)]),
        (vec![UpstreamError::Silent], vec![("silent", 1)]),
        (vec![DOWN, DOWN], vec![("unreachable", 2)]),
        (vec![refused(429), refused(401)], vec![("key_refused", 1), ("busy", 1)]),
    ] {
        let around = turns(1).with_unfound(errors);
        let gateway = around.gateway();
        let attempts = Arc::clone(&gateway.attempts);
        let chat = Chat::new(Gateway { catalogue: LiveSetting::new(searching()), ..gateway });

        ask(&chat).await.unwrap();

        assert!(sent_bodies(&around)[0].contains("The search failed"));
        assert_eq!(counted(&attempts), expected);
    }
}

#[tokio::test]
async fn more_searches_than_a_minute_has_room_for_fail_and_the_answer_does_not() {
    let around = turns(2);
    let requests_per_minute = Some(1);
    let with = limited(Protection { requests_per_minute, ..Protection::default() });
    let gateway = around.gateway();
    let attempts = Arc::clone(&gateway.attempts);
    let chat = Chat::new(Gateway { catalogue: LiveSetting::new(with), ..gateway });
    ask(&chat).await.unwrap();
    let mut second = Box::pin(ask(&chat));
    not_ready(&mut second).await;
    assert_eq!(around.calls().len(), 3);

    around.advance(Duration::from_secs(5));
    second.await.unwrap();

    assert_eq!(around.searched().len(), 1);
    let reported = sent_bodies(&around);
    assert!(reported[0].contains("https://rust-lang.org"), "{reported:?}");
    assert!(reported[1].contains("The search failed"), "{reported:?}");
    // What found no room was no attempt.
    assert_eq!(counted(&attempts), [("answered", 1)]);
}

/// Searches for ever.
struct EndlessStream;

#[async_trait]
impl WebSearch for EndlessStream {
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
async fn no_more_searches_than_may_are_open_at_once() {
    let answers = [SEARCHES, SEARCHES, ANSWER].map(Script::Whole);
    let around = Surroundings::with_scripts(answers.into());
    let with = limited(Protection { concurrent: Some(1), ..Protection::default() });
    let gateway = around.gateway();
    let turnstile = Arc::clone(&gateway.upstream_limiter);
    let catalogue = LiveSetting::new(with);
    let chat = Chat::new(Gateway { catalogue, search: Arc::new(EndlessStream), ..gateway });
    let mut first = Box::pin(ask(&chat));
    not_ready(&mut first).await;
    let mut second = Box::pin(ask(&chat));
    not_ready(&mut second).await;
    assert_eq!(turnstile.load(), (1, 1));

    around.advance(Duration::from_secs(5));
    second.await.unwrap();

    let reported = around.calls()[2].2["messages"][2]["content"].to_string();
    assert!(reported.contains("The search failed"), "{reported}");
    drop(first);
    assert_eq!(turnstile.load(), (0, 0));
}
