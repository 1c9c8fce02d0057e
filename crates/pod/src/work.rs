//! Work that the server requests: calls of tools, and runs of skills. A panic of
//! a tool ends its call as failed, and neither the connection nor the pod.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::call_context::CallContext;
use crate::messages::{CallRequest, RunSkillRequest};
use crate::skill::PodSkill;
use crate::tool::Tool;

/// Value, or the reason why there is none.
pub(crate) type Outcome = Result<Value, String>;

type Start = Box<dyn FnOnce(CallContext) -> BoxFuture<'static, Outcome> + Send>;

/// Work that has not begun yet.
pub(crate) struct Work {
    pub(crate) call_id: String,
    pub(crate) limit: Duration,
    /// Beginning of the work, or the reason why nothing can begin.
    start: Result<Start, String>,
}

impl Work {
    /// Creates the call of a tool.
    pub(crate) fn call(request: CallRequest, tool: Option<Arc<dyn Tool>>) -> Self {
        let CallRequest { call_id, tool: name, arguments, timeout_seconds } = request;
        let start = tool.ok_or_else(|| format!("the pod has no tool {name}")).map(|tool| {
            let start = move |context| {
                let call = async move { tool.call(arguments.into(), context).await };
                catch_panic(call, "the tool failed").boxed()
            };
            Box::new(start) as Start
        });
        Self { call_id, limit: Duration::from_secs(timeout_seconds), start }
    }

    /// Creates the run of a skill.
    pub(crate) fn run(request: RunSkillRequest, skill: Option<Arc<dyn PodSkill>>) -> Self {
        let RunSkillRequest { call_id, skill: name, material, timeout_seconds } = request;
        let start = skill.ok_or_else(|| format!("the pod has no skill {name}")).map(|skill| {
            let start = move |context| {
                let run = async move { skill.run(material, context).await };
                catch_panic(run, "the skill failed").boxed()
            };
            Box::new(start) as Start
        });
        Self { call_id, limit: Duration::from_secs(timeout_seconds), start }
    }

    /// Returns the beginning of the work, or the reason why nothing can begin.
    pub(crate) fn into_start(self) -> Result<Start, String> {
        self.start
    }
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work").field("call_id", &self.call_id).finish_non_exhaustive()
    }
}

async fn catch_panic(work: impl Future<Output = Outcome>, error: &str) -> Outcome {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_panic| Err(error.to_owned()))
}

/// Parses the argument of an invocation.
pub(crate) fn parse<T: DeserializeOwned>(argument: Option<Value>) -> Result<T, String> {
    serde_json::from_value(argument.unwrap_or_default())
        .map_err(|err| format!("the call is malformed: {err}"))
}
