//! Skills, and their runs.

use async_trait::async_trait;
use pia_pod::{CallContext, PodSkill};
use serde_json::{Value, json};

use crate::hub::{Event, Hub};
use crate::hub_connection::Command;
use crate::running_pod::{RunningPod, pod};

/// Skill that returns the length of its material, or fails as it wants.
struct Report;

#[async_trait]
impl PodSkill for Report {
    fn name(&self) -> &'static str {
        "report"
    }

    fn timeout_seconds(&self) -> Option<u32> {
        Some(60)
    }

    async fn run(&self, material: String, context: CallContext) -> Result<Value, String> {
        match material.as_str() {
            "error" => Err("it failed".to_owned()),
            "panic" => panic!("it panicked"),
            "wait" => {
                context.report("It waits.");
                context.cancelled.cancelled().await;
                Err("it was cancelled".to_owned())
            }
            _ => Ok(json!({ "length": material.len() })),
        }
    }
}

fn run(hub: &Hub, skill: &str, material: &str) {
    let request = json!({
        "callId": "call-1", "skill": skill, "material": material, "timeoutSeconds": 10,
    });
    hub.invoke("RunSkill", request);
}

#[actix_web::test]
async fn a_skill_is_named_and_run() {
    let mut hub = Hub::start();
    let _pod = RunningPod::start(pod(&hub).with_skill(Report));
    assert_eq!(hub.hello().await["skills"], json!([{ "name": "report", "timeoutSeconds": 60 }]));

    run(&hub, "report", "a text");
    assert_eq!(hub.result().await, json!({ "content": { "length": 6 } }));
    run(&hub, "other", "a text");
    let content = "the pod has no skill other";
    assert_eq!(hub.result().await, json!({ "content": content, "isError": true }));
    for (material, content) in [("error", "it failed"), ("panic", "the skill failed")] {
        run(&hub, "report", material);
        assert_eq!(hub.result().await, json!({ "content": content, "isError": true }));
    }
}

#[actix_web::test]
async fn a_run_reports_its_progress_and_is_cancelled_like_a_call() {
    let mut hub = Hub::start();
    let _pod = RunningPod::start(pod(&hub).with_skill(Report));
    hub.hello().await;

    run(&hub, "report", "wait");
    let progress = json!({ "callId": "call-1", "message": "It waits." });
    assert_eq!(hub.next().await, Event::Progress(progress));
    hub.command(Command::Cancel("call-1"));

    assert_eq!(hub.result().await["isError"], true);
}
