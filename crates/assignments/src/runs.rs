//! Runs of assignments by a worker, step by step.
//!
//! A worker calls `claim` (or `claim_one`, if an engine names the run), then
//! `advance` until the answer is not `Continue`. `advance` executes one step and
//! stores its outcome under the claim's fence: if the claim was lost meanwhile,
//! nothing is stored but the tokens that were spent. `step` decides before the
//! call of the model, `ended` and `not_executed` after it.

mod progress;
mod prompt;
mod user_steps;

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{AssignmentId, Clock, LiveSetting, Timestamp, Unavailable};

pub use progress::StepProgress;
pub use user_steps::UserSteps;

use crate::event::{EventKind, NewEvent, StepDetail};
use crate::ports::run_store::RunStore;
use crate::ports::step_executor::{
    StepError, StepExecutor, StepHost, StepRequest, StepResponse, ToolCallRecord,
};
use crate::run::{
    Attempt, FailureCode, Run, RunChange, RunClaim, RunFailure, RunOutcome, WorkerId,
};
use crate::settings::AssignmentSettings;
use crate::skill::SkillStep;
use crate::truncation::{MAX_ERROR_CHARS, truncated};

/// Delay before the first repetition of a step; each further one is twice as
/// long.
const FIRST_DELAY: Duration = Duration::from_secs(2);
/// Minimum delay before a repetition that a model asks for.
const MIN_DELAY: Duration = Duration::from_secs(1);
/// Maximum delay before a repetition.
const MAX_DELAY: Duration = Duration::from_mins(1);

/// Runs of assignments by a worker. Any number of workers may share a database.
#[derive(Clone)]
pub struct Runs {
    /// Store of the runs.
    pub store: Arc<dyn RunStore>,
    /// Model that executes steps.
    pub steps: Arc<dyn StepExecutor>,
    /// Limits of tokens, steps, attempts and time.
    pub settings: LiveSetting<AssignmentSettings>,
    /// Clock that stamps changes and delays.
    pub clock: Arc<dyn Clock>,
    /// Steps in progress: a user has at most as many as unfinished assignments.
    pub user_steps: UserSteps,
}

/// State of a run after a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advance {
    /// Next step can begin.
    Continue(Box<Run>),
    /// Step is to be repeated after this time, by any worker.
    Repeat(Duration),
    /// Run has ended, or another worker has it.
    Ended,
}

/// Outcome of a step before it is stored.
struct StepEnd {
    change: RunChange,
    advance: Advance,
}

impl Runs {
    /// Claims the run that is due next; `None` if none is.
    pub async fn claim(&self, worker: WorkerId) -> Result<Option<Run>, Unavailable> {
        self.store.claim(worker, self.clock.now(), started()).await
    }

    /// Claims a run; `None` if it has ended.
    pub async fn claim_one(
        &self,
        id: AssignmentId,
        worker: WorkerId,
    ) -> Result<Option<Run>, Unavailable> {
        self.store.claim_one(id, worker, self.clock.now(), started()).await
    }

    /// Executes the next step of a run and stores its outcome.
    ///
    /// If the run has ended meanwhile, or another worker has claimed it, the
    /// outcome is dropped and its tokens count as abandoned. A step whose
    /// worker disappears is executed again. The run waits while steps of assignments
    /// that have ended use all that the user may have in progress.
    pub async fn advance(&self, run: Run) -> Result<Advance, Unavailable> {
        let claim = run.claim;
        let in_progress = self.user_steps.begin(run.user, self.settings.get().max_per_user);
        let StepEnd { change, advance } = if in_progress.is_some() {
            self.step(run).await?
        } else {
            self.not_executed(&run, StepError::Busy { retry_after: None })
        };

        let tokens = change.tokens.saturating_add(change.abandoned);
        if self.store.change(claim, change).await? {
            return Ok(advance);
        }
        if tokens > 0 {
            self.store.abandon(claim.id, tokens).await?;
        }
        Ok(Advance::Ended)
    }

    /// Releases a run whose step could not be stored, if it is still held: it is
    /// repeated at once.
    pub async fn release(&self, claim: RunClaim) -> Result<(), Unavailable> {
        let outcome =
            RunOutcome::Released { due_at: self.clock.now(), attempt: Attempt::Postponed };
        self.store.change(claim, self.change(0, Vec::new(), outcome)).await?;
        Ok(())
    }

    async fn step(&self, run: Run) -> Result<StepEnd, Unavailable> {
        let Some(tools) = self.steps.tools(run.user, run.skill.mode).await? else {
            let message = "The account may not use models any more.";
            return Ok(self.failed(FailureCode::NotPermitted, message, 0));
        };

        let step_index = usize::try_from(run.step_count).unwrap_or(usize::MAX);
        let settings = *self.settings.get();
        let remaining = settings.token_ceiling.saturating_sub(run.tokens_spent);
        let Some(step) = run.skill.steps.get(step_index).cloned() else {
            return Ok(self.failed(FailureCode::StepLimitExceeded, "The skill has no steps.", 0));
        };
        if run.skill.steps.len() > settings.max_steps as usize {
            let message = "The skill has more steps than are permitted.";
            return Ok(self.failed(FailureCode::StepLimitExceeded, message, 0));
        }
        if remaining <= 0 {
            let message = "The tokens of the assignment are used up.";
            return Ok(self.failed(FailureCode::TokenCeilingExceeded, message, 0));
        }

        let lost_tools: Vec<String> =
            run.tools.iter().flatten().filter(|it| !tools.contains(it)).cloned().collect();
        let max_output = step.max_output.unwrap_or(remaining).min(remaining);
        let request = step_request(&run, &step, max_output, settings.wall_clock);

        let progress = StepProgress::new(Arc::clone(&self.store), Arc::clone(&self.clock), &run);
        let mut end = match self.steps.execute(request, progress).await {
            Ok(mut response) => {
                let calls = std::mem::take(&mut response.tool_calls);
                let mut end = self.ended(run, &step, tools.clone(), response);
                end.change.events.splice(..0, of_tools(step_index, &calls));
                end
            }
            Err(err) => self.not_executed(&run, err),
        };

        if !lost_tools.is_empty() {
            end.change.events.insert(0, deauthorized(step_index, lost_tools, &tools));
        }

        Ok(end)
    }

    /// Returns the outcome of a step with a response.
    fn ended(
        &self,
        mut run: Run,
        step: &SkillStep,
        tools: Vec<String>,
        response: StepResponse,
    ) -> StepEnd {
        let StepResponse { text, raw, tokens, .. } = response;
        let detail = StepDetail::step(run.step_count, tokens, &tools);
        let total = run.skill.steps.len();
        let next = usize::try_from(run.step_count).unwrap_or(usize::MAX).saturating_add(1);
        if let Some(following) = run.skill.steps.get(next) {
            // Only the last step may lack a text: its raw response is the artifact.
            let Some(output) = text else {
                let message = "The model answered a step without a text.";
                return self.failed(FailureCode::UpstreamFailed, message, tokens);
            };

            let output_message = format!("{}: {output}", step.title);
            let ended = NewEvent::of_step(EventKind::Step, run.step_count, &output_message)
                .by_other()
                .with_detail(&detail);
            let next_message = format!("Step {} of {total}: {}", next + 1, following.title);
            let continued = NewEvent::of_step(EventKind::Continued, run.step_count, &next_message);

            run.step_count = run.step_count.saturating_add(1);
            run.tokens_spent = run.tokens_spent.saturating_add(tokens);
            run.failed_attempts = 0;
            run.outputs.push(output.clone());
            run.tools = Some(tools.clone());
            let outcome = RunOutcome::Continued { output, tools };
            let change = self.change(tokens, vec![ended, continued], outcome);
            return StepEnd { change, advance: Advance::Continue(Box::new(run)) };
        }

        let artifact =
            NewEvent::of_step(EventKind::Artifact, run.step_count, "The result is ready.");
        let events =
            vec![artifact.with_detail(&detail), NewEvent::once(EventKind::Completed, "Completed.")];
        let outcome = RunOutcome::Completed { artifact_json: raw, artifact_text: text };

        StepEnd { change: self.change(tokens, events, outcome), advance: Advance::Ended }
    }

    /// Returns the outcome of a step without a response.
    fn not_executed(&self, run: &Run, err: StepError) -> StepEnd {
        let (delay, attempt) = match err {
            StepError::Permanent { code, message } => return self.failed(code, &message, 0),
            StepError::Transient { code, message } => {
                let attempts = run.failed_attempts.saturating_add(1);
                if attempts >= self.settings.get().max_attempts {
                    return self.failed(code, &message, 0);
                }
                (delay_after(attempts), Attempt::Failed)
            }
            StepError::Busy { retry_after } => {
                (retry_after.unwrap_or(FIRST_DELAY).clamp(MIN_DELAY, MAX_DELAY), Attempt::Postponed)
            }
        };

        let outcome = RunOutcome::Released { due_at: self.clock.now() + delay, attempt };
        let change = self.change(0, Vec::new(), outcome);
        StepEnd { change, advance: Advance::Repeat(delay) }
    }

    fn failed(&self, code: FailureCode, message: &str, abandoned: i64) -> StepEnd {
        let events = vec![NewEvent::once(EventKind::Failed, message)];
        let failure = RunFailure { code, message: truncated(message, MAX_ERROR_CHARS) };
        let change = self.change(0, events, RunOutcome::Failed(failure));
        StepEnd { change: RunChange { abandoned, ..change }, advance: Advance::Ended }
    }

    fn change(&self, tokens: i64, events: Vec<NewEvent>, outcome: RunOutcome) -> RunChange {
        run_change(self.clock.now(), tokens, events, outcome)
    }
}

/// Returns the request for a step of a run.
fn step_request(run: &Run, step: &SkillStep, max_output: i64, timeout: Duration) -> StepRequest {
    StepRequest {
        user: run.user,
        mode: run.skill.mode,
        instructions: step.instructions.clone(),
        material: prompt::material(run),
        max_output: Some(max_output),
        host: run.skill.host.map(|connector| StepHost {
            connector,
            skill: run.skill.name.clone(),
            timeout,
        }),
    }
}

fn run_change(at: Timestamp, tokens: i64, events: Vec<NewEvent>, outcome: RunOutcome) -> RunChange {
    RunChange { at, tokens, abandoned: 0, events, outcome }
}

fn started() -> NewEvent {
    NewEvent::once(EventKind::Started, "Started.")
}

fn deauthorized(step: usize, lost: Vec<String>, tools: &[String]) -> NewEvent {
    let step = i32::try_from(step).unwrap_or(i32::MAX);
    let message = format!("No longer permitted: {}.", lost.join(", "));
    NewEvent::of_step(EventKind::Deauthorized, step, &message)
        .with_detail(&StepDetail::lost(step, lost, tools))
}

/// Returns the events of the calls of tools of a step.
fn of_tools(step: usize, calls: &[ToolCallRecord]) -> impl Iterator<Item = NewEvent> {
    let step = i32::try_from(step).unwrap_or(i32::MAX);
    calls.iter().enumerate().map(move |(number, it)| NewEvent::of_tool(step, number, it))
}

/// Returns the delay after this number of attempts that failed.
fn delay_after(attempts: u32) -> Duration {
    let factor = 2_u32.saturating_pow(attempts.saturating_sub(1));
    FIRST_DELAY.saturating_mul(factor).min(MAX_DELAY)
}

#[cfg(test)]
mod tests;
