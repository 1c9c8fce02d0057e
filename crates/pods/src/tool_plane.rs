//! Tool plane: tools and skills of connected pods, as others use them.
//!
//! There are three ways in: `tools` and `call` for chats, `try_tool` for
//! administrators, `run_skill` for assignments. Each selects the pods that offer
//! the name, those of this instance first, calls them in this order until one
//! takes the call, and records each call that reached a pod. Grants are read by
//! each call, through `GrantedPods`. Arguments and results are checked against
//! the tool's schemas here, not by the pod's link.

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{Either, FusedFuture as _, select};
use pia_kernel::{Clock, ConnectorId, GroupId, SideEffects, Timestamp, Unavailable, UserId};
use serde_json::{Value, json};

use crate::connected_pod::ConnectedPod;
use crate::description::{OfferedSkill, PodTool};
use crate::error::{SkillCallError, ToolCallError};
use crate::granted_pods::GrantedPods;
use crate::ports::pod_link::{CallTarget, PodCall, PodLink, PodReply, ProgressSink};
use crate::ports::pod_registry::{CallRecord, PodCallOutcome, PodRegistry};
use crate::schema::Schemas;

/// Maximum size of the arguments of a call, in bytes of JSON.
const MAX_ARGUMENT_BYTES: usize = 64 * 1024;
/// Maximum length of a result, in characters, beyond which it is cut.
const MAX_RESULT_CHARS: usize = 32_000;
/// Mark of a result that was cut.
const CUT: &str = "\n[The rest was left out.]";

/// Tools of connected pods.
#[derive(Clone)]
pub struct ToolPlane {
    /// Registry of connected pods.
    pub registry: Arc<dyn PodRegistry>,
    /// Links to the pods of this instance.
    pub link: Arc<dyn PodLink>,
    /// Clock of the recorded durations.
    pub clock: Arc<dyn Clock>,
    granted: GrantedPods,
    schemas: Arc<Schemas>,
}

/// Tool that is granted to a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantedTool {
    /// Name by which it is called.
    pub name: String,
    /// Description, for the model, as the pod wrote it.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
}

/// Caller of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolCaller {
    /// User in whose name the tool is called.
    pub user: UserId,
    /// Group of the user, whose grants decide.
    pub group: GroupId,
}

/// Skill that the pods of a connector run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostedSkill {
    /// Connector whose pods may run it.
    pub connector: ConnectorId,
    /// Name under which pods advertise it.
    pub name: String,
    /// Request and its material.
    pub material: String,
    /// Time limit; a pod may advertise a shorter one.
    pub timeout: Duration,
}

/// Pod that offers a tool.
#[derive(Clone, Copy)]
struct Offer<'a> {
    pod: &'a ConnectedPod,
    tool: &'a PodTool,
}

/// Pod that advertises a skill.
#[derive(Clone, Copy)]
struct SkillOffer<'a> {
    pod: &'a ConnectedPod,
    skill: &'a OfferedSkill,
}

/// Call that is to be recorded.
#[derive(Clone, Copy)]
struct EndedCall<'a> {
    user: UserId,
    pod: &'a ConnectedPod,
    /// Name of the tool or skill.
    target: &'a str,
    started_at: Timestamp,
    result: &'a Result<PodReply, ToolCallError>,
}

impl ToolPlane {
    /// Creates the tool plane of the pods that groups may use.
    pub fn new(granted: GrantedPods, link: Arc<dyn PodLink>) -> Self {
        let registry = Arc::clone(&granted.registry);
        let clock = Arc::clone(&granted.clock);
        Self { registry, link, clock, granted, schemas: Arc::default() }
    }

    /// Lists the tools that are granted to a group and connected to this instance,
    /// by name. Of several with one name the longest connected is listed; tools that
    /// are marked as dangerous are not.
    pub async fn tools(&self, group: GroupId) -> Result<Vec<GrantedTool>, Unavailable> {
        if self.link.is_idle() {
            return Ok(Vec::new());
        }

        let pods = self.granted.of(group).await?;
        let callable = pods.iter().filter(|it| self.is_callable(it));
        let mut tools: Vec<_> = callable.flat_map(|it| &it.description.tools).collect();
        tools.retain(|it| !it.dangerous);
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        tools.dedup_by(|a, b| a.name == b.name);

        let granted = |it: &PodTool| GrantedTool {
            name: it.name.clone(),
            description: it.description.clone(),
            parameters: it.parameters.clone(),
        };

        Ok(tools.into_iter().map(granted).collect())
    }

    /// Calls a tool, if it is still granted to the caller's group. `arguments` is a
    /// JSON object. Another pod of the connector is called if the first one is busy, or
    /// was lost and the tool is idempotent. Each call is audited, without its arguments
    /// and its result. The pod is told to cancel the call when `gone` ends first; do not
    /// drop this future, or it is not audited.
    pub async fn call(
        &self,
        caller: ToolCaller,
        name: &str,
        arguments: &str,
        gone: impl Future<Output = ()> + Send,
    ) -> Result<PodReply, ToolCallError> {
        let arguments = parse_arguments(arguments)?;
        let pods =
            self.granted.of(caller.group).await.map_err(|_err| ToolCallError::Unavailable)?;
        let offers = self.offers(&pods, |it| it.name == name && !it.dangerous);
        let reply = self.call_first(caller.user, offers, arguments, gone).await?;
        let is_error = reply.is_error;
        Ok(PodReply { content: shortened(reply.into_text()).into(), is_error })
    }

    /// Calls a tool of a connector for the administrator `by`, who may also try a
    /// dangerous tool and one that is granted to nobody. `arguments` is a JSON object.
    /// The call is audited like others.
    pub async fn try_tool(
        &self,
        by: UserId,
        connector: ConnectorId,
        name: &str,
        arguments: &str,
    ) -> Result<PodReply, ToolCallError> {
        let arguments = parse_arguments(arguments)?;
        let mut pods = self
            .registry
            .list_connected(None, self.clock.now())
            .await
            .map_err(|_err| ToolCallError::Unavailable)?;
        pods.retain(|it| it.connector == connector);
        let offers = self.offers(&pods, |it| it.name == name);
        self.call_first(by, offers, arguments, pending()).await
    }

    /// Runs a skill on the first pod that advertises it and is not busy, if its
    /// connector is still granted to the caller's group, and reports its progress.
    /// Each run is audited as a call. As with `call`, the pod is told to cancel it when
    /// `gone` ends first.
    pub async fn run_skill(
        &self,
        caller: ToolCaller,
        skill: HostedSkill,
        progress: ProgressSink,
        gone: impl Future<Output = ()> + Send,
    ) -> Result<PodReply, SkillCallError> {
        let mut gone = pin!(gone.fuse());
        let HostedSkill { connector, name, material, timeout } = skill;
        let pods =
            self.granted.of(caller.group).await.map_err(|_err| ToolCallError::Unavailable)?;
        let is_own = |it: &&ConnectedPod| it.connector == connector && self.is_callable(it);
        let connector_pods: Vec<_> = pods.iter().filter(is_own).collect();
        if connector_pods.is_empty() {
            return Err(SkillCallError::NotConnected);
        }

        let mut result = Err(SkillCallError::NotAdvertised);
        for SkillOffer { pod, skill } in self.skill_offers(connector_pods, &name) {
            let pod_limit = skill.timeout_seconds.map(|it| Duration::from_secs(it.into()));
            let call = PodCall {
                target: CallTarget::Skill { name: name.clone(), material: material.clone() },
                timeout: pod_limit.map_or(timeout, |it| it.min(timeout)),
            };
            let started_at = self.clock.now();
            let call = self.link.call(pod.id, call, progress.clone());
            let reply = unless_gone(call, &mut gone).await;
            let ended_call =
                EndedCall { user: caller.user, pod, target: &name, started_at, result: &reply };
            self.record(ended_call).await;
            let is_busy = reply == Err(ToolCallError::Busy);
            result = reply.map_err(SkillCallError::from);
            if !is_busy {
                break;
            }
        }

        result
    }

    /// Calls the first pod that takes the call.
    async fn call_first(
        &self,
        user: UserId,
        offers: Vec<Offer<'_>>,
        arguments: Value,
        gone: impl Future<Output = ()> + Send,
    ) -> Result<PodReply, ToolCallError> {
        let mut gone = pin!(gone.fuse());
        let mut result = Err(ToolCallError::NotGranted);
        for offer in offers {
            let tool = offer.tool;
            self.schemas
                .validate(&tool.parameters, &arguments)
                .map_err(ToolCallError::InvalidArguments)?;
            let timeout = Duration::from_secs(tool.timeout_seconds.into());
            let target = CallTarget::Tool { name: tool.name.clone(), arguments: arguments.clone() };
            let call = PodCall { target, timeout };
            result = self.send(user, offer, call, &mut gone).await;

            let can_repeat = match result {
                Err(ToolCallError::Busy) => true,
                Err(ToolCallError::Lost) => tool.idempotent && !gone.is_terminated(),
                _ => false,
            };

            if !can_repeat {
                break;
            }
        }

        result
    }

    /// Calls a tool of a pod, and records that.
    async fn send(
        &self,
        user: UserId,
        Offer { pod, tool }: Offer<'_>,
        call: PodCall,
        gone: &mut (impl Future<Output = ()> + Send + Unpin),
    ) -> Result<PodReply, ToolCallError> {
        let started_at = self.clock.now();
        // Chats show no progress of tools.
        let call = self.link.call(pod.id, call, ProgressSink::default());
        let mut result = unless_gone(call, gone).await;

        if let (Ok(reply), Some(schema)) = (&result, &tool.output_schema)
            && !reply.is_error
            && self.schemas.validate(schema, &reply.content).is_err()
        {
            result = Err(ToolCallError::Failed);
        }

        let ended_call = EndedCall { user, pod, target: &tool.name, started_at, result: &result };
        self.record(ended_call).await;

        result
    }

    fn is_callable(&self, pod: &ConnectedPod) -> bool {
        !pod.is_draining && self.link.is_linked(pod.id)
    }

    /// Returns the pods that offer a tool, those of this instance first. All have the
    /// connector of the pod that has been connected longest.
    fn offers<'a>(
        &self,
        pods: &'a [ConnectedPod],
        is_wanted: impl Fn(&PodTool) -> bool,
    ) -> Vec<Offer<'a>> {
        let offer = |pod: &'a ConnectedPod| {
            let tool = pod.description.tools.iter().find(|it| is_wanted(it))?;
            Some(Offer { pod, tool })
        };
        let mut offers: Vec<Offer<'a>> =
            pods.iter().filter(|it| self.is_callable(it)).filter_map(offer).collect();
        let connector = offers.first().map(|it| it.pod.connector);
        offers.retain(|it| Some(it.pod.connector) == connector);
        offers.sort_by_key(|it| !self.link.holds(it.pod.id));
        offers
    }

    /// Returns the pods that advertise a skill, those of this instance first.
    fn skill_offers<'a>(&self, pods: Vec<&'a ConnectedPod>, name: &str) -> Vec<SkillOffer<'a>> {
        let offer = |pod: &'a ConnectedPod| {
            let skill = pod.description.skills.iter().find(|it| it.name == name)?;
            Some(SkillOffer { pod, skill })
        };
        let mut offers: Vec<SkillOffer<'a>> = pods.into_iter().filter_map(offer).collect();
        offers.sort_by_key(|it| !self.link.holds(it.pod.id));
        offers
    }

    /// Records a call, unless the pod was busy and so was not called.
    async fn record(&self, call: EndedCall<'_>) {
        let EndedCall { user, pod, target, started_at, result } = call;
        if *result == Err(ToolCallError::Busy) {
            return;
        }

        let milliseconds = (self.clock.now().micros() - started_at.micros()) / 1_000;
        let is_completed = matches!(result, Ok(reply) if !reply.is_error);
        let outcome = if is_completed { PodCallOutcome::Completed } else { PodCallOutcome::Failed };
        let object = format!("connector:{}", pod.connector);
        let effects =
            SideEffects::of_object(self.clock.now(), Some(user), object, "Pod.ToolCalled");
        let outcome_name = result.as_ref().map_or_else(ToolCallError::name, PodReply::outcome);
        let change =
            json!({ "tool": target, "milliseconds": milliseconds, "outcome": outcome_name });
        let record = CallRecord { pod: pod.id, outcome, milliseconds };
        self.registry.record(record, effects.with_changes(None, Some(&change))).await;
    }
}

/// Returns the reply of a call, or `Lost` if its caller goes away before.
async fn unless_gone(
    call: impl Future<Output = Result<PodReply, ToolCallError>> + Unpin,
    gone: &mut (impl Future<Output = ()> + Unpin),
) -> Result<PodReply, ToolCallError> {
    match select(call, gone).await {
        Either::Left((reply, _)) => reply,
        Either::Right(((), _)) => Err(ToolCallError::Lost),
    }
}

fn parse_arguments(arguments: &str) -> Result<Value, ToolCallError> {
    let invalid = |reason: String| ToolCallError::InvalidArguments(reason);
    if arguments.len() > MAX_ARGUMENT_BYTES {
        return Err(invalid(format!("more than {MAX_ARGUMENT_BYTES} bytes")));
    }
    let parsed: Value = serde_json::from_str(arguments).map_err(|err| invalid(err.to_string()))?;
    if !parsed.is_object() {
        return Err(invalid("not an object".to_owned()));
    }
    Ok(parsed)
}

/// Cuts a long result.
fn shortened(text: String) -> String {
    match text.char_indices().nth(MAX_RESULT_CHARS) {
        Some((end, _)) => text.get(..end).unwrap_or_default().to_owned() + CUT,
        None => text,
    }
}

#[cfg(test)]
mod tests;
