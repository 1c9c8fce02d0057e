//! Errors of pods.

use pia_kernel::Unavailable;
use serde::{Deserialize, Serialize};

/// Reasons why a connector was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ConnectorError {
    /// Connector does not exist.
    #[error("no such connector")]
    NotFound,
    /// Another connector has this name.
    #[error("the name is in use")]
    NameTaken,
    /// Name has another form.
    #[error("the name must have 1 to 100 characters and no control characters")]
    InvalidName,
    /// URL or token of an MCP server is malformed, or the URL is not permitted.
    #[error("the URL or token of the MCP server is malformed, or the URL is not permitted")]
    InvalidMcp,
    /// Connector brings the tools of an MCP server, and can have no pods and no skill.
    #[error("the connector of an MCP server can have neither tokens nor a skill")]
    IsMcp,
    /// One of the groups does not exist.
    #[error("no such group")]
    UnknownGroup,
    /// Another operator has a skill of this name.
    #[error("the name of the skill is in use")]
    SkillTaken,
    /// Connector has too many valid tokens.
    #[error("the connector has too many valid tokens: revoke some")]
    TooManyTokens,
    /// Pod is not connected.
    #[error("no such pod is connected")]
    NoPod,
    /// Store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Reasons why the description of a pod is refused. A pod reads them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DescriptionError {
    /// Description has another form.
    #[error("malformed description: {0}")]
    Malformed(String),
    /// Version of the messages is another one.
    #[error("unsupported protocol: this server speaks version {0}")]
    Protocol(u32),
    /// Number of tools or skills exceeds 100.
    #[error("too many tools or skills: at most 100")]
    TooMany,
    /// Name is empty, long, reserved, in use twice or has other characters.
    #[error("invalid name: {0}")]
    Name(String),
    /// Description, a schema or the time limit of a tool is invalid.
    #[error("invalid description, parameters, outputSchema or timeoutSeconds of the tool {0}")]
    Tool(String),
}

/// Reasons why a tool was not called, or returned nothing. Models read them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum ToolCallError {
    /// Tool does not exist, or is not granted to the caller's group any more.
    #[error("This tool is not available.")]
    NotGranted,
    /// Arguments are no JSON object, are too long or violate the tool's schema.
    #[error("The arguments are not valid: {0}")]
    InvalidArguments(String),
    /// Pod is gone, or went away before it answered. The call may have had an
    /// effect.
    #[error("The tool did not answer.")]
    Lost,
    /// Pod has as many calls as it handles, or went away before the call was sent.
    #[error("The tool is busy.")]
    Busy,
    /// Pod did not answer in time.
    #[error("The tool did not answer in time.")]
    TimedOut,
    /// Pod answered with an error, with something that is no result or with one that
    /// violates the tool's schema.
    #[error("The tool failed.")]
    Failed,
    /// Store is unavailable.
    #[error("The tool is not available at the moment.")]
    Unavailable,
}

impl ToolCallError {
    /// Returns the name of the outcome in the audit log.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotGranted => "not_granted",
            Self::InvalidArguments(_) => "invalid_arguments",
            Self::Lost => "lost",
            Self::Busy => "busy",
            Self::TimedOut => "timed_out",
            Self::Failed => "failed",
            Self::Unavailable => "unavailable",
        }
    }
}

/// Reasons why a skill was not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkillCallError {
    /// No pod of the connector is connected.
    #[error("no pod of the connector is connected")]
    NotConnected,
    /// Pods of the connector do not advertise the skill.
    #[error("the pod does not advertise the skill")]
    NotAdvertised,
    /// Pod was called, and returned nothing.
    #[error(transparent)]
    Call(#[from] ToolCallError),
}
