//! Tests of the tool plane.

use std::sync::Mutex;

use pia_kernel::{ConnectorId, Timestamp};
use pia_testkit::ManualClock;
use uuid::Uuid;

use super::*;
use crate::{
    ConnectorTokenHash, MockPodLink, MockPodRegistry, OfferedSkill, PodDescription, PodId,
};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn pod(name: &str, tools: &[(&str, bool)]) -> ConnectedPod {
    let tools: Vec<Value> = tools.iter().map(|(tool, dangerous)| json!({
        "name": tool, "description": format!("{tool} of {name}"), "parameters": { "type": "object" },
        "dangerous": dangerous, "timeoutSeconds": 7,
    })).collect();
    let description = json!({ "protocol": 1, "name": name, "tools": tools });
    ConnectedPod {
        id: PodId(Uuid::now_v7()),
        connector: ConnectorId::generate(),
        token: Some(ConnectorTokenHash([0; 32])),
        host: "host-1".to_owned(),
        description: PodDescription::parse(description).unwrap(),
        connected_at: NOW,
        alive_until: NOW,
        calls: 0,
        failures: 0,
        milliseconds: 0,
        is_draining: false,
    }
}

fn plane(
    pods: Vec<ConnectedPod>,
    mut registry: MockPodRegistry,
    mut link: MockPodLink,
) -> ToolPlane {
    registry.expect_list_connected().returning(move |_, _| Ok(pods.clone()));
    link.expect_is_linked().returning(|_| true);
    link.expect_is_idle().return_const(false);
    link.expect_holds().returning(|_| false);
    let clock = Arc::new(ManualClock::new(NOW));
    ToolPlane::new(GrantedPods::new(Arc::new(registry), clock), Arc::new(link))
}

fn caller() -> ToolCaller {
    ToolCaller { user: UserId::generate(), group: GroupId::generate() }
}

#[tokio::test]
async fn each_name_is_listed_once_and_nothing_dangerous() {
    let pods = vec![
        pod("first", &[("search", false), ("delete", true)]),
        pod("second", &[("search", false), ("forecast", false)]),
    ];
    let plane = plane(pods, MockPodRegistry::new(), MockPodLink::new());
    let tools = plane.tools(GroupId::generate()).await.unwrap();
    let descriptions: Vec<_> = tools.iter().map(|it| it.description.as_str()).collect();
    assert_eq!(descriptions, ["forecast of second", "search of first"]);
    let refused = plane.call(caller(), "delete", "{}", pending()).await;
    assert_eq!(refused, Err(ToolCallError::NotGranted));
}

#[tokio::test]
async fn a_call_is_audited_without_arguments_and_result() {
    let first = pod("first", &[("search", false)]);
    let id = first.id;
    let caller = caller();
    let mut registry = MockPodRegistry::new();
    let mut link = MockPodLink::new();
    link.expect_call().once().returning(move |pod, call, _| {
        assert_eq!(pod, id);
        assert_eq!(call.timeout, Duration::from_secs(7));
        let arguments = json!({ "q": "confidential" });
        assert_eq!(call.target, CallTarget::Tool { name: "search".to_owned(), arguments });
        Ok(PodReply { content: "x".repeat(40_000).into(), is_error: false })
    });
    let audited = Arc::new(Mutex::new(String::new()));
    let recorded = Arc::clone(&audited);
    registry.expect_record().once().returning(move |record, effects| {
        assert_eq!(record.pod, id);
        assert_eq!(record.outcome, PodCallOutcome::Completed);
        *recorded.lock().unwrap() = format!("{effects:?}");
    });
    let plane = plane(vec![first], registry, link);
    let reply = plane.call(caller, "search", r#"{"q":"confidential"}"#, pending()).await.unwrap();
    assert_eq!(reply.into_text().chars().count(), MAX_RESULT_CHARS + CUT.chars().count());
    let entry = audited.lock().unwrap().clone();
    assert!(entry.contains("Pod.ToolCalled") && entry.contains("completed"), "{entry}");
    assert!(!entry.contains("confidential") && !entry.contains("xxx"));
}

#[tokio::test]
async fn failures_are_recorded_and_returned() {
    let mut registry = MockPodRegistry::new();
    let mut link = MockPodLink::new();
    link.expect_call().once().returning(|_, _, _| Err(ToolCallError::TimedOut));
    registry.expect_record().once().returning(|record, effects| {
        assert_eq!(record.outcome, PodCallOutcome::Failed);
        assert!(format!("{effects:?}").contains("timed_out"));
    });
    let plane = plane(vec![pod("first", &[("search", false)])], registry, link);
    assert_eq!(plane.call(caller(), "search", "{}", pending()).await, Err(ToolCallError::TimedOut));
    let long = format!("{{\"q\":\"{}\"}}", "x".repeat(MAX_ARGUMENT_BYTES));
    for arguments in ["", "[]", "{", &long] {
        let refused = plane.call(caller(), "search", arguments, pending()).await;
        assert!(matches!(refused, Err(ToolCallError::InvalidArguments(_))));
    }
}

#[tokio::test]
async fn a_skill_runs_on_a_pod_that_advertises_it() {
    let skill = |connector| HostedSkill {
        connector,
        name: "plan".to_owned(),
        material: "Where to?".to_owned(),
        timeout: Duration::from_secs(9),
    };
    let mut able = pod("able", &[]);
    able.description.skills =
        vec![OfferedSkill { name: "plan".to_owned(), timeout_seconds: Some(5) }];
    let other = pod("other", &[]);
    let own = able.connector;
    let foreign = other.connector;
    let mut registry = MockPodRegistry::new();
    let mut link = MockPodLink::new();
    registry.expect_record().once().returning(|_, _| ());
    link.expect_call().once().returning(|_, call, progress| {
        progress.report("Halfway.".to_owned());
        let material = "Where to?".to_owned();
        assert_eq!(call.target, CallTarget::Skill { name: "plan".to_owned(), material });
        assert_eq!(call.timeout, Duration::from_secs(5));
        Ok(PodReply { content: "To Rome.".into(), is_error: false })
    });
    let plane = plane(vec![able, other], registry, link);
    let progress = Arc::new(Mutex::new(Vec::new()));
    let reports = Arc::clone(&progress);
    let sink = ProgressSink::new(move |it| reports.lock().unwrap().push(it));
    let run = async |it| plane.run_skill(caller(), skill(it), sink.clone()).await;
    assert_eq!(run(own).await.unwrap().into_text(), "To Rome.");
    assert_eq!(*progress.lock().unwrap(), ["Halfway."]);
    let refused = run(foreign).await;
    assert_eq!(refused, Err(SkillCallError::NotAdvertised));
    let nobody = run(ConnectorId::generate()).await;
    assert_eq!(nobody, Err(SkillCallError::NotConnected));
}

#[tokio::test]
async fn a_call_whose_caller_goes_away_is_recorded() {
    let mut registry = MockPodRegistry::new();
    let mut link = MockPodLink::new();
    link.expect_call()
        .once()
        .returning(|_, _, _| Ok(PodReply { content: "".into(), is_error: false }));
    registry.expect_record().times(2).returning(|_, _| ());
    let plane = plane(vec![pod("first", &[("search", false)])], registry, link);
    // What is ready at once is not lost.
    assert!(plane.call(caller(), "search", "{}", std::future::ready(())).await.is_ok());
    let never = ToolPlane { link: Arc::new(NeverAnswers), ..plane };
    let gone = never.call(caller(), "search", "{}", std::future::ready(())).await;
    assert_eq!(gone, Err(ToolCallError::Lost));
}

/// Calls a tool of two pods of one connector, the first of which fails. Returns the
/// result and the number of calls.
async fn fails_over(
    idempotent: bool,
    failure: ToolCallError,
) -> (Result<PodReply, ToolCallError>, usize) {
    let mut first = pod("first", &[("search", false)]);
    first.description.tools[0].idempotent = idempotent;
    let id = first.id;
    let other = pod("other", &[("search", false)]);
    let second = ConnectedPod { id: PodId(Uuid::now_v7()), ..first.clone() };
    let mut registry = MockPodRegistry::new();
    let mut link = MockPodLink::new();
    let recorded = Arc::new(Mutex::new(0));
    let count = Arc::clone(&recorded);
    registry.expect_record().returning(move |_, _| {
        *count.lock().unwrap() += 1;
    });
    link.expect_call().returning(move |pod, _, _| {
        if pod == id { Err(failure.clone()) } else { Ok(reply(json!("found"))) }
    });
    let plane = plane(vec![first, other, second], registry, link);
    let result = plane.call(caller(), "search", "{}", pending()).await;
    let calls = *recorded.lock().unwrap();
    (result, calls)
}

fn reply(content: Value) -> PodReply {
    PodReply { content, is_error: false }
}

#[tokio::test]
async fn a_call_is_repeated_only_if_that_is_harmless() {
    let success = || Ok(reply(json!("found")));
    assert_eq!(fails_over(false, ToolCallError::Busy).await, (success(), 1));
    assert_eq!(fails_over(true, ToolCallError::Lost).await, (success(), 2));
    let lost = Err(ToolCallError::Lost);
    assert_eq!(fails_over(false, ToolCallError::Lost).await, (lost, 1));
    let late = Err(ToolCallError::TimedOut);
    assert_eq!(fails_over(true, ToolCallError::TimedOut).await, (late, 1));
}

#[tokio::test]
async fn arguments_and_results_are_checked_against_schemas() {
    let mut lying = pod("first", &[("search", false)]);
    lying.description.tools[0].parameters = json!({ "required": ["q"] });
    lying.description.tools[0].output_schema = Some(json!({ "type": "integer" }));
    let mut registry = MockPodRegistry::new();
    let mut link = MockPodLink::new();
    registry.expect_record().times(2).returning(|_, _| ());
    let mut contents = vec![json!(3), json!("three")];
    link.expect_call().times(2).returning(move |_, _, _| Ok(reply(contents.remove(0))));
    let plane = plane(vec![lying], registry, link);
    let call = async |arguments: &str| {
        plane.call(caller(), "search", arguments, pending()).await.map(PodReply::into_text)
    };
    let Err(ToolCallError::InvalidArguments(reason)) = call("{}").await else { panic!() };
    assert!(reason.contains("\"q\""), "{reason}");
    assert_eq!(call(r#"{"q":1}"#).await, Ok("3".to_owned()));
    assert_eq!(call(r#"{"q":1}"#).await, Err(ToolCallError::Failed));
}

#[tokio::test]
async fn an_administrator_tries_dangerous_tools_of_one_connector() {
    let first = pod("first", &[("drop", true)]);
    let second = pod("second", &[("drop", true)]);
    let id = second.id;
    let connector = second.connector;
    let mut registry = MockPodRegistry::new();
    let mut link = MockPodLink::new();
    registry.expect_record().once().returning(|_, _| ());
    link.expect_call().once().returning(move |pod, _, _| {
        assert_eq!(pod, id);
        Ok(reply(json!("done")))
    });
    let plane = plane(vec![first, second], registry, link);
    let outcome = plane.try_tool(UserId::generate(), connector, "drop", "{}").await;
    assert_eq!(outcome, Ok(reply(json!("done"))));
}

/// Pod that never answers.
struct NeverAnswers;

#[async_trait::async_trait]
impl PodLink for NeverAnswers {
    fn is_idle(&self) -> bool {
        false
    }

    fn pods(&self) -> Vec<PodId> {
        Vec::new()
    }

    fn holds(&self, _: PodId) -> bool {
        true
    }

    fn is_linked(&self, _: PodId) -> bool {
        true
    }

    async fn call(&self, _: PodId, _: PodCall, _: ProgressSink) -> Result<PodReply, ToolCallError> {
        pending().await
    }
}
