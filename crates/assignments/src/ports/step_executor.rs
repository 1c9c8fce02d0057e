//! Model that executes steps, or a pod in place of it. `bridges/step_executor.rs`
//! of `server` implements it. `Runs::advance` calls `tools` before each step, and
//! turns a `StepError` into a repetition or a failure.

use std::time::Duration;

use async_trait::async_trait;
use pia_kernel::{ConnectorId, Unavailable, UserId};

use crate::run::FailureCode;
use crate::runs::StepProgress;
use crate::skill::SkillMode;

/// Model that executes steps through the AI proxy.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait StepExecutor: Send + Sync {
    /// Returns the names of the tools that the model may use for this user now;
    /// `None` if the user may not use models any more.
    async fn tools(
        &self,
        user: UserId,
        mode: SkillMode,
    ) -> Result<Option<Vec<String>>, Unavailable>;

    /// Executes a step. Appends its progress at most once in ten seconds.
    async fn execute(
        &self,
        request: StepRequest,
        progress: StepProgress,
    ) -> Result<StepResponse, StepError>;
}

/// Step to be executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRequest {
    /// User in whose name, and on whose budget, the model is called.
    pub user: UserId,
    /// Mode that chooses the model.
    pub mode: SkillMode,
    /// Instructions of the skill.
    pub instructions: String,
    /// Material, fenced by `runs/prompt.rs`: it gives no instructions.
    pub material: String,
    /// Maximum length of the response in tokens.
    pub max_output: Option<i64>,
    /// Pod that executes it in place of a model.
    pub host: Option<StepHost>,
}

/// Pod that executes a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepHost {
    /// Connector of the pod.
    pub connector: ConnectorId,
    /// Name of the skill.
    pub skill: String,
    /// Time limit of the step; the pod may have a shorter one.
    pub timeout: Duration,
}

/// Response of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepResponse {
    /// Text; `None` if it has none.
    pub text: Option<String>,
    /// Raw response, in the format of OpenAI's chat completions.
    pub raw: String,
    /// Tokens of all calls of the step.
    pub tokens: i64,
    /// Calls of the server's tools, in their order; each becomes an event of the run.
    pub tool_calls: Vec<ToolCallRecord>,
}

/// Call of one of the server's tools by a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCallRecord {
    /// Name of the tool.
    pub tool: String,
    /// True if it failed.
    pub failed: bool,
}

/// Reasons why a step was not executed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// Model is busy, or the server stops: the attempt does not count.
    #[error("the model is busy")]
    Busy {
        /// Delay that it requested.
        retry_after: Option<Duration>,
    },
    /// Attempt failed and may be repeated.
    #[error("{message}")]
    Transient {
        /// Code if no attempt is left.
        code: FailureCode,
        /// Text for the user.
        message: String,
    },
    /// No attempt would succeed.
    #[error("{message}")]
    Permanent {
        /// Code of the failure, for programs.
        code: FailureCode,
        /// Text for the user.
        message: String,
    },
}
