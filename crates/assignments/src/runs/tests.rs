//! Tests of the runs of assignments.

use std::sync::Mutex;

use super::*;
use crate::fakes::{NOW, clock, new_run, settings};
use crate::{MockRunStore, MockStepExecutor};

/// Worker with a scripted model. The store accepts changes and records them.
struct Scene {
    runs: Runs,
    changes: Arc<Mutex<Vec<RunChange>>>,
}

fn scene_with(
    tools: Option<&'static [&'static str]>,
    respond: impl Fn(StepRequest) -> Result<StepResponse, StepError> + Send + Sync + 'static,
) -> Scene {
    let mut steps = MockStepExecutor::new();
    let tools = tools.map(|names| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
    steps.expect_tools().returning(move |_, _| Ok(tools.clone()));
    steps.expect_execute().returning(move |request, _| respond(request));
    let mut store = MockRunStore::new();
    let changes = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&changes);
    store.expect_change().returning(move |_, change| {
        recorded.lock().unwrap().push(change);
        Ok(true)
    });
    let runs = Runs {
        store: Arc::new(store),
        steps: Arc::new(steps),
        settings: settings(),
        clock: clock(),
        user_steps: UserSteps::default(),
    };
    Scene { runs, changes }
}

fn response(text: &str) -> StepResponse {
    StepResponse {
        text: Some(text.to_owned()),
        raw: "{}".to_owned(),
        tokens: 10,
        tool_calls: Vec::new(),
    }
}

impl Scene {
    fn kinds(&self) -> Vec<&'static str> {
        let changes = self.changes.lock().unwrap();
        changes.iter().flat_map(|it| &it.events).map(|it| it.kind.name()).collect()
    }

    fn last(&self) -> RunChange {
        self.changes.lock().unwrap().last().cloned().unwrap()
    }
}

fn failure(change: &RunChange) -> Option<FailureCode> {
    match &change.outcome {
        RunOutcome::Failed(failure) => Some(failure.code),
        _ => None,
    }
}

#[tokio::test]
async fn each_step_gets_the_outputs_of_those_before() {
    let scene = scene_with(Some(&["search"]), |request| {
        let outputs = request.material.matches("<step title=").count();
        Ok(response(&format!("output {outputs}")))
    });
    let mut run = new_run();

    while let Advance::Continue(next) = scene.runs.advance(run).await.unwrap() {
        run = *next;
        if run.step_count > 2 {
            break;
        }
        assert_eq!(run.outputs.last().unwrap(), &format!("output {}", run.step_count - 1));
        assert_eq!(run.tokens_spent, i64::from(run.step_count) * 10);
    }

    let expected = ["step", "continued", "step", "continued", "artifact", "completed"];
    assert_eq!(scene.kinds(), expected);
    let artifact_text = Some("output 2".to_owned());
    let expected = RunOutcome::Completed { artifact_json: "{}".to_owned(), artifact_text };
    assert_eq!(scene.last().outcome, expected);
}

#[tokio::test]
async fn a_step_whose_run_has_ended_counts_as_abandoned() {
    let mut store = MockRunStore::new();
    store.expect_change().returning(|_, _| Ok(false));
    store.expect_abandon().once().withf(|_, tokens| *tokens == 10).returning(|_, _| Ok(()));
    let mut scene = scene_with(Some(&[]), |_| Ok(response("late")));
    scene.runs.store = Arc::new(store);

    assert_eq!(scene.runs.advance(new_run()).await.unwrap(), Advance::Ended);
}

#[tokio::test]
async fn an_attempt_is_repeated_until_none_is_left() {
    let scene = scene_with(Some(&[]), |_| {
        let code = FailureCode::UpstreamTimeout;
        Err(StepError::Transient { code, message: "The model did not answer.".to_owned() })
    });

    for (failed_attempts, seconds) in [(0, 2), (1, 4)] {
        let run = Run { failed_attempts, ..new_run() };
        let delay = Duration::from_secs(seconds);
        assert_eq!(scene.runs.advance(run).await.unwrap(), Advance::Repeat(delay));
        let outcome = RunOutcome::Released { due_at: NOW + delay, attempt: Attempt::Failed };
        assert_eq!(scene.last().outcome, outcome);
    }
    let run = Run { failed_attempts: 2, ..new_run() };
    assert_eq!(scene.runs.advance(run).await.unwrap(), Advance::Ended);
    assert_eq!(failure(&scene.last()), Some(FailureCode::UpstreamTimeout));
}

#[tokio::test]
async fn a_busy_model_is_no_failed_attempt() {
    let retry_after = Some(Duration::from_hours(1));
    let scene = scene_with(Some(&[]), move |_| Err(StepError::Busy { retry_after }));

    let run = Run { failed_attempts: 2, ..new_run() };
    assert_eq!(scene.runs.advance(run).await.unwrap(), Advance::Repeat(MAX_DELAY));
}

#[tokio::test]
async fn the_rest_of_the_tokens_limits_the_response() {
    let scene = scene_with(Some(&[]), |request| {
        assert_eq!(request.max_output, Some(7));
        Ok(response("short"))
    });
    let ceiling = AssignmentSettings::default().token_ceiling;

    let run = Run { tokens_spent: ceiling - 7, ..new_run() };
    let Advance::Continue(next) = scene.runs.advance(run).await.unwrap() else {
        panic!("a step is left")
    };
    // The step spent ten tokens, its prompt included.
    assert_eq!(scene.runs.advance(*next).await.unwrap(), Advance::Ended);
    assert_eq!(failure(&scene.last()), Some(FailureCode::TokenCeilingExceeded));
}

#[tokio::test]
async fn lost_tools_are_named_and_the_run_goes_on_without_them() {
    let scene = scene_with(Some(&["search"]), |_| Ok(response("done")));
    let tools = Some(vec!["search".to_owned(), "knowledge".to_owned()]);

    scene.runs.advance(Run { tools, ..new_run() }).await.unwrap();

    assert_eq!(scene.kinds(), ["deauthorized", "step", "continued"]);
    let detail = scene.last().events[0].detail.clone().unwrap();
    assert!(detail.contains(r#""lostTools":["knowledge"],"toolCount":1"#), "{detail}");
}

#[tokio::test]
async fn calls_of_tools_are_events_of_their_step() {
    let call = |failed| ToolCallRecord { tool: "search".to_owned(), failed };
    let tool_calls = vec![call(false), call(true)];
    let scene = scene_with(Some(&["search"]), move |_| {
        Ok(StepResponse { tool_calls: tool_calls.clone(), ..response("done") })
    });

    scene.runs.advance(Run { step_count: 1, ..new_run() }).await.unwrap();

    assert_eq!(scene.kinds(), ["tool", "tool", "step", "continued"]);
    let events = scene.last().events;
    let keys_and_messages = events.iter().map(|it| (it.key.as_str(), it.message.as_str()));
    let expected = [("tool:1:0", "Used search."), ("tool:1:1", "search failed.")];
    assert_eq!(keys_and_messages.take(2).collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_user_without_models_ends_the_run() {
    let scene = scene_with(None, |_| Ok(response("never")));

    assert_eq!(scene.runs.advance(new_run()).await.unwrap(), Advance::Ended);
    assert_eq!(failure(&scene.last()), Some(FailureCode::NotPermitted));
}

#[tokio::test]
async fn a_run_waits_for_steps_of_assignments_that_have_ended() {
    let scene = scene_with(Some(&[]), |_| Ok(response("done")));
    let run = new_run();
    let limit = AssignmentSettings::default().max_per_user;
    let begin = || scene.runs.user_steps.begin(run.user, limit);
    let in_progress: Vec<_> = (0..limit).filter_map(|_| begin()).collect();

    assert_eq!(scene.runs.advance(run.clone()).await.unwrap(), Advance::Repeat(FIRST_DELAY));
    let outcome = RunOutcome::Released { due_at: NOW + FIRST_DELAY, attempt: Attempt::Postponed };
    assert_eq!(scene.last().outcome, outcome);
    let other_run = new_run();
    assert!(matches!(scene.runs.advance(other_run).await.unwrap(), Advance::Continue(_)));

    drop(in_progress);
    assert!(matches!(scene.runs.advance(run).await.unwrap(), Advance::Continue(_)));
}
