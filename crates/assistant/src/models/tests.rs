//! Tests of the view of the catalogue.

use std::sync::Mutex;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::FutureExt as _;
use pia_kernel::LiveSetting;

use super::*;
use crate::fakes::{Script, TestEnv, target};
use crate::ports::UpstreamError;
use crate::routing::attempts::AttemptOutcome;
use crate::routing::catalogue::SearchDepth;

#[derive(Default)]
struct RecordedEffects(Mutex<Vec<SideEffects>>);

#[async_trait]
impl EffectWriter for RecordedEffects {
    async fn write(&self, effects: &SideEffects) -> Result<(), Unavailable> {
        self.0.lock().unwrap().push(effects.clone());
        Ok(())
    }
}

fn target_named(id: &str) -> Arc<Target> {
    Arc::new(Target { id: Some(id.to_owned()), ..(*target(id)).clone() })
}

/// Creates the view of a catalogue with each kind of entry.
fn models(env: &TestEnv) -> (Models, Arc<RecordedEffects>) {
    let search = SearchProvider {
        id: "web".to_owned(),
        endpoint: String::new(),
        keys: Vec::new(),
        depth: SearchDepth::Fast,
        protection: Protection::default(),
    };
    let catalogue = ModelCatalogue {
        default: Some(target("m")),
        research: Some(target("deep")),
        entries: vec![target_named("a/b")],
        searches: vec![Arc::new(search)],
        embedders: vec![target_named("vectors")],
        ..ModelCatalogue::default()
    };
    let gateway = Gateway { catalogue: LiveSetting::new(catalogue), ..env.gateway() };
    let effects = Arc::new(RecordedEffects::default());
    (Models::new(gateway, Arc::<RecordedEffects>::clone(&effects)), effects)
}

fn refusal(status: u16) -> Script {
    let body = Bytes::from_static(b"your key sk-1 is wrong");
    Script::Fails(UpstreamError::Refused { status, retry_after: None, body })
}

#[test]
fn entries_have_a_key_and_the_modes_that_they_serve() {
    let (models, _) = models(&TestEnv::with_scripts(Vec::new()));

    let list = models.list();
    let keys: Vec<_> = list.iter().map(|it| (it.key.as_str(), it.modes.as_slice())).collect();

    let expected: [(&str, &[Mode]); 5] = [
        ("Ai", &[Mode::Optimize, Mode::Assistant]),
        ("Ai:Modes:Research", &[Mode::Research]),
        ("Ai:Providers:a/b", &[]),
        ("Ai:Providers:vectors", &[]),
        ("Ai:Providers:web", &[]),
    ];
    assert_eq!(keys, expected);
    assert!(models.find("Ai:Providers:a/b").is_some() && models.find("a/b").is_none());
}

#[test]
fn entries_are_named_by_their_settings_and_at_their_provider() {
    let (models, _) = models(&TestEnv::with_scripts(Vec::new()));

    let list = models.list();
    let names: Vec<_> =
        list.iter().map(|it| (it.name(), it.model.upstream_name(), it.model.provider())).collect();

    let expected = [
        ("Ai", "m", "OpenAI"),
        ("Ai:Modes:Research", "deep", "OpenAI"),
        ("a/b", "a/b", "OpenAI"),
        ("vectors", "vectors", "OpenAI"),
        ("web", "fast", "Linkup"),
    ];
    assert_eq!(names, expected);
}

#[test]
fn a_mode_is_served_by_the_groups_entry_or_else_by_that_of_the_settings() {
    let (models, _) = models(&TestEnv::with_scripts(Vec::new()));
    let key = |mode, id| models.serving(mode, id).map(|it| it.key);

    assert_eq!(key(Mode::Research, None).as_deref(), Some("Ai:Modes:Research"));
    assert_eq!(key(Mode::Assistant, None).as_deref(), Some("Ai"));
    assert_eq!(key(Mode::Research, Some("A/B")).as_deref(), Some("Ai:Providers:a/b"));
    assert_eq!(key(Mode::Assistant, Some("vectors")).as_deref(), Some("Ai"));
}

#[tokio::test]
async fn a_test_is_audited_and_charged_to_nobody() {
    let env = TestEnv::new(Script::Full(
        r#"{"choices":[{"message":{"content":"Hello!"}}],"usage":{"prompt_tokens":3}}"#,
    ));
    let (models, effects) = models(&env);
    let admin = UserId::generate();

    let test = models.test(admin, "Ai:Providers:a/b").await.unwrap();

    assert_eq!(test.result, Ok(ModelAnswer::Text("Hello!".to_owned())));
    assert!(env.usage_records().is_empty());
    assert!(env.requests().is_empty());
    let entry = effects.0.lock().unwrap()[0].audit[0].clone();
    assert_eq!(entry.action, "Model.Tested");
    assert_eq!(entry.actor, Some(admin));
    assert_eq!(entry.object.as_deref(), Some("model:Ai:Providers:a/b"));
    let attempts = models.find("Ai:Providers:a/b").unwrap().attempts;
    assert_eq!(attempts.last, Some(AttemptOutcome::Answered));
    let outcome = models.test(admin, "Ai:Providers:b").await;
    assert!(matches!(outcome, Err(ModelTestError::Unknown)));
    assert_eq!(effects.0.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_failure_names_the_status_of_the_upstream() {
    let env = TestEnv::with_scripts(vec![refusal(401), refusal(404), Script::Full("{}")]);
    let (models, _) = models(&env);
    let test = async || models.test(UserId::generate(), "Ai").await.unwrap().result;

    let failures = [test().await, test().await, test().await];

    let expected = [
        Err(ModelTestFailure::Upstream(AttemptOutcome::KeyRefused, Some(401))),
        Err(ModelTestFailure::Upstream(AttemptOutcome::Refused, Some(404))),
        Err(ModelTestFailure::Unreadable),
    ];
    assert_eq!(failures, expected);
    assert_eq!(models.find("Ai").unwrap().keys_in_cooldown, 1);
}

#[tokio::test]
async fn embedders_and_searches_are_tested_too() {
    let env = TestEnv::new(Script::Full(r#"{"data":[{"index":0,"embedding":[1.5,2.0]}]}"#));
    let (models, _) = models(&env);

    let embedder = models.test(UserId::generate(), "Ai:Providers:vectors").await.unwrap();
    let search = models.test(UserId::generate(), "Ai:Providers:web").await.unwrap();

    assert_eq!(embedder.result, Ok(ModelAnswer::Vector(2)));
    assert_eq!(search.result, Ok(ModelAnswer::Results(0)));
    assert_eq!(env.searches().len(), 1);
}

#[tokio::test]
async fn a_silent_upstream_ends_the_test() {
    let env = TestEnv::new(Script::Silence);
    let (models, _) = models(&env);
    let mut testing = Box::pin(models.test(UserId::generate(), "Ai"));
    assert!((&mut testing).now_or_never().is_none());
    env.advance(TEST_TIMEOUT);
    let test = testing.await.unwrap();
    assert_eq!(test.took, TEST_TIMEOUT);
    assert_eq!(test.result, Err(ModelTestFailure::TimedOut));
}
