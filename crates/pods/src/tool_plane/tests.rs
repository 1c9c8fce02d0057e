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

/// Ports of a tool plane, with the expectations of a test.
#[derive(Default)]
struct MockPorts {
    registry: MockPodRegistry,
    link: MockPodLink,
}

fn plane(pods: Vec<ConnectedPod>, ports: MockPorts) -> ToolPlane {
    let MockPorts { mut registry, mut link } = ports;
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
    let tool_plane = plane(pods, MockPorts::default());

    let tools = tool_plane.tools(GroupId::generate()).await.unwrap();

    let descriptions: Vec<_> = tools.iter().map(|it| it.description.as_str()).collect();
    assert_eq!(descriptions, ["forecast of second", "search of first"]);
    let refused = tool_plane.call(caller(), "delete", "{}", pending()).await;
    assert_eq!(refused, Err(ToolCallError::NotGranted));
}

#[tokio::test]
async fn a_call_is_audited_without_arguments_and_result() {
    let searcher = pod("first", &[("search", false)]);
    let pod_id = searcher.id;
    let mut registry = MockPodRegistry::new();
    let mut link = MockPodLink::new();
    link.expect_call().once().returning(move |pod, call, _| {
        assert_eq!(pod, pod_id);
        assert_eq!(call.timeout, Duration::from_secs(7));
        let arguments = json!({ "q": "confidential" });
        assert_eq!(call.target, CallTarget::Tool { name: "search".to_owned(), arguments });
        Ok(PodReply { content: "x".repeat(40_000).into(), is_error: false })
    });
    let audit_entry = Arc::new(Mutex::new(String::new()));
    let recorder = Arc::clone(&audit_entry);
    registry.expect_record().once().returning(move |record, effects| {
        assert_eq!(record.pod, pod_id);
        assert_eq!(record.outcome, PodCallOutcome::Completed);
        *recorder.lock().unwrap() = format!("{effects:?}");
    });
    let tool_plane = plane(vec![searcher], MockPorts { registry, link });

    let reply =
        tool_plane.call(caller(), "search", r#"{"q":"confidential"}"#, pending()).await.unwrap();

    assert_eq!(reply.into_text().chars().count(), MAX_RESULT_CHARS + CUT.chars().count());
    let entry = audit_entry.lock().unwrap().clone();
    for text in ["Pod.ToolCalled", "completed"] {
        assert!(entry.contains(text), "{entry}");
    }
    for secret in ["confidential", "xxx"] {
        assert!(!entry.contains(secret), "{entry}");
    }
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
    let tool_plane = plane(vec![pod("first", &[("search", false)])], MockPorts { registry, link });

    assert_eq!(
        tool_plane.call(caller(), "search", "{}", pending()).await,
        Err(ToolCallError::TimedOut)
    );

    let oversized = format!("{{\"q\":\"{}\"}}", "x".repeat(MAX_ARGUMENT_BYTES));
    for arguments in ["", "[]", "{", &oversized] {
        let refused = tool_plane.call(caller(), "search", arguments, pending()).await;
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
    let mut advertiser = pod("advertiser", &[]);
    advertiser.description.skills =
        vec![OfferedSkill { name: "plan".to_owned(), timeout_seconds: Some(5) }];
    let idler = pod("other", &[]);
    let own_connector = advertiser.connector;
    let foreign_connector = idler.connector;

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

    let tool_plane = plane(vec![advertiser, idler], MockPorts { registry, link });
    let progress = Arc::new(Mutex::new(Vec::new()));
    let reports = Arc::clone(&progress);
    let sink = ProgressSink::new(move |it| reports.lock().unwrap().push(it));
    let run = async |it| tool_plane.run_skill(caller(), skill(it), sink.clone(), pending()).await;

    assert_eq!(run(own_connector).await.unwrap().into_text(), "To Rome.");
    assert_eq!(*progress.lock().unwrap(), ["Halfway."]);

    assert_eq!(run(foreign_connector).await, Err(SkillCallError::NotAdvertised));
    let unknown_connector = ConnectorId::generate();
    assert_eq!(run(unknown_connector).await, Err(SkillCallError::NotConnected));
}

#[tokio::test]
async fn a_call_whose_caller_goes_away_is_recorded() {
    let mut registry = MockPodRegistry::new();
    let mut link = MockPodLink::new();
    link.expect_call()
        .once()
        .returning(|_, _, _| Ok(PodReply { content: "".into(), is_error: false }));
    registry.expect_record().times(2).returning(|_, _| ());
    let tool_plane = plane(vec![pod("first", &[("search", false)])], MockPorts { registry, link });

    // A reply that is ready at once is not lost.
    assert!(tool_plane.call(caller(), "search", "{}", std::future::ready(())).await.is_ok());

    let silent_plane = ToolPlane { link: Arc::new(NeverAnswers), ..tool_plane };
    let outcome = silent_plane.call(caller(), "search", "{}", std::future::ready(())).await;
    assert_eq!(outcome, Err(ToolCallError::Lost));
}

/// Result of a call to a tool that two pods of one connector offer.
struct Failover {
    result: Result<PodReply, ToolCallError>,
    /// Number of calls that were recorded.
    calls: usize,
}

/// Calls the tool, with this failure of the first pod.
async fn fail_over(idempotent: bool, failure: ToolCallError) -> Failover {
    let mut failing_pod = pod("first", &[("search", false)]);
    failing_pod.description.tools[0].idempotent = idempotent;
    let failing_id = failing_pod.id;
    let unrelated_pod = pod("other", &[("search", false)]);
    let second_pod = ConnectedPod { id: PodId(Uuid::now_v7()), ..failing_pod.clone() };

    let mut registry = MockPodRegistry::new();
    let mut link = MockPodLink::new();
    let call_count = Arc::new(Mutex::new(0));
    let recorder = Arc::clone(&call_count);
    registry.expect_record().returning(move |_, _| {
        *recorder.lock().unwrap() += 1;
    });
    link.expect_call().returning(move |pod, _, _| {
        if pod == failing_id { Err(failure.clone()) } else { Ok(reply(json!("found"))) }
    });
    let tool_plane =
        plane(vec![failing_pod, unrelated_pod, second_pod], MockPorts { registry, link });

    let result = tool_plane.call(caller(), "search", "{}", pending()).await;
    let calls = *call_count.lock().unwrap();
    Failover { result, calls }
}

fn reply(content: Value) -> PodReply {
    PodReply { content, is_error: false }
}

#[tokio::test]
async fn a_call_is_repeated_only_if_that_is_harmless() {
    let busy = fail_over(false, ToolCallError::Busy).await;
    let lost = fail_over(true, ToolCallError::Lost).await;
    let lost_with_effects = fail_over(false, ToolCallError::Lost).await;
    let timed_out = fail_over(true, ToolCallError::TimedOut).await;

    assert_eq!(busy.result, Ok(reply(json!("found"))));
    assert_eq!(busy.calls, 1, "a busy pod was not called");
    assert_eq!(lost.result, Ok(reply(json!("found"))));
    assert_eq!(lost.calls, 2);
    assert_eq!(lost_with_effects.result, Err(ToolCallError::Lost));
    assert_eq!(lost_with_effects.calls, 1);
    assert_eq!(timed_out.result, Err(ToolCallError::TimedOut));
    assert_eq!(timed_out.calls, 1);
}

#[tokio::test]
async fn arguments_and_results_are_checked_against_schemas() {
    let mut unreliable_pod = pod("first", &[("search", false)]);
    unreliable_pod.description.tools[0].parameters = json!({ "required": ["q"] });
    unreliable_pod.description.tools[0].output_schema = Some(json!({ "type": "integer" }));

    let mut registry = MockPodRegistry::new();
    let mut link = MockPodLink::new();
    registry.expect_record().times(2).returning(|_, _| ());
    let mut contents = vec![json!(3), json!("three")];
    link.expect_call().times(2).returning(move |_, _, _| Ok(reply(contents.remove(0))));
    let tool_plane = plane(vec![unreliable_pod], MockPorts { registry, link });
    let call = async |arguments: &str| {
        tool_plane.call(caller(), "search", arguments, pending()).await.map(PodReply::into_text)
    };

    let Err(ToolCallError::InvalidArguments(reason)) = call("{}").await else { panic!() };
    assert!(reason.contains("\"q\""), "{reason}");
    assert_eq!(call(r#"{"q":1}"#).await, Ok("3".to_owned()));
    assert_eq!(call(r#"{"q":1}"#).await, Err(ToolCallError::Failed));
}

#[tokio::test]
async fn an_administrator_tries_dangerous_tools_of_one_connector() {
    let unrelated_pod = pod("first", &[("drop", true)]);
    let wanted_pod = pod("second", &[("drop", true)]);
    let wanted_id = wanted_pod.id;
    let connector = wanted_pod.connector;

    let mut registry = MockPodRegistry::new();
    let mut link = MockPodLink::new();
    registry.expect_record().once().returning(|_, _| ());
    link.expect_call().once().returning(move |pod, _, _| {
        assert_eq!(pod, wanted_id);
        Ok(reply(json!("done")))
    });
    let tool_plane = plane(vec![unrelated_pod, wanted_pod], MockPorts { registry, link });

    let outcome = tool_plane.try_tool(UserId::generate(), connector, "drop", "{}").await;

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
