//! `Operators` and `Workflow`: assignments.

use std::time::Duration;

use pia_assignments::AssignmentSettings;
use pia_kernel::Secret;

use super::fault::Reason;
use super::section::Section;
use super::setting::Setting;

/// `Workflow:Address` of the engine that needs no server.
const EMBEDDED: &str = "embedded";
/// Default of `Workflow:Address` outside of Development.
const DEFAULT_ADDRESS: &str = "workflow:7233";
const DEFAULT_PLAINTEXT_HOURS: PlaintextHours = PlaintextHours(72);
const MAX_PLAINTEXT_HOURS: i64 = 87_600;
const HOUR: Duration = Duration::from_hours(1);

/// Assignments.
#[derive(Debug, Clone)]
pub struct OperatorsConfig {
    /// Settings; `None` if assignments are off.
    pub engine: Option<EngineConfig>,
    /// Limits of assignments.
    pub assignments: AssignmentSettings,
    /// Number of assignments that a worker runs at once.
    pub concurrency: u32,
    /// True if webhooks may reach addresses of this network, also unencrypted.
    pub allows_private_webhooks: bool,
    /// True if MCP servers of connectors may be at such addresses.
    pub allows_private_mcp_servers: bool,
}

/// Workflow engine.
#[derive(Debug, Clone)]
pub enum EngineConfig {
    /// Engine over the server's database.
    Embedded,
    /// Temporal server.
    Temporal(WorkflowServer),
}

/// Workflow server, and what of it is used.
#[derive(Debug, Clone)]
pub struct WorkflowServer {
    /// Host and port.
    pub address: String,
    /// Namespace.
    pub namespace: String,
    /// Task queue.
    pub task_queue: String,
    /// True if the connection is encrypted.
    pub is_tls: bool,
    /// Key that is sent with each call.
    pub api_key: Option<Secret<String>>,
}

impl OperatorsConfig {
    /// Reads both sections.
    pub(super) fn from_sections(all: &mut Section<'_>) -> Self {
        let mut from = all.section("Operators");
        let is_enabled = from.restart("Enabled").or(false);
        let concurrency = from.reload("MaxConcurrentAssignments").within(4_u32, 1..=1000);
        let per_user = from.reload("MaxConcurrentAssignmentsPerUser").within(2_u32, 1..=1000);
        let assignments = AssignmentSettings {
            max_steps: from.reload("MaxSteps").within(8_u32, 3..=50),
            wall_clock: seconds(from.reload("WallClockTimeoutSeconds").within(900, 10..=604_800)),
            max_per_user: per_user.min(concurrency),
            max_attempts: from.reload("MaxActivityAttempts").within(3_u32, 1..=100),
            token_ceiling: from
                .reload("PerAssignmentTokenCeiling")
                .within(200_000_u32, 1_000..=1_000_000_000)
                .into(),
            queued_grace: seconds(from.reload("QueuedGraceMinutes").within(5, 1..=1440)) * 60,
            max_restarts: from.reload("MaxReconcileAttempts").within(5_u32, 1..=100),
            retention: HOUR * 24 * from.reload("RetentionDays").within(30_u32, 1..=3650),
            plaintext_retention: HOUR
                * from.reload("PlaintextRetentionHours").or(DEFAULT_PLAINTEXT_HOURS).0,
        };
        let allows_private_webhooks = from.reload("AllowPrivateWebhooks").or(false);
        let allows_private_mcp_servers = from.reload("AllowPrivateMcpServers").or(false);
        let engine = engine(&mut all.section("Workflow"));
        let engine = is_enabled.then_some(engine);
        Self {
            engine,
            assignments,
            concurrency,
            allows_private_webhooks,
            allows_private_mcp_servers,
        }
    }
}

fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(seconds.into())
}

/// Hours after which contents are deleted; the default if it is not positive.
struct PlaintextHours(u32);

impl Setting for PlaintextHours {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        let number = text.trim().parse::<i64>().ok().filter(|it| *it <= MAX_PLAINTEXT_HOURS);
        let number = number.ok_or(Reason::form("expected a whole number up to 87600"))?;
        let hours = u32::try_from(number).ok().filter(|it| *it > 0);
        Ok(hours.map_or(DEFAULT_PLAINTEXT_HOURS, Self))
    }

    fn format(&self) -> String {
        self.0.to_string()
    }
}

fn engine(from: &mut Section<'_>) -> EngineConfig {
    let is_development = from.environment().is_development();
    let default = if is_development { EMBEDDED } else { DEFAULT_ADDRESS };
    let server = WorkflowServer {
        address: from.restart("Address").or(default.to_owned()),
        namespace: from.restart("Namespace").or("pia".to_owned()),
        task_queue: from.restart("TaskQueue").or("pia-operators".to_owned()),
        is_tls: from.restart("Tls").or(false),
        api_key: from.restart("ApiKey").optional(),
    };
    if server.api_key.is_some() && !server.is_tls {
        from.refuse(
            "ApiKey",
            Reason::combination("requires Workflow:Tls, so that it is encrypted"),
        );
    }
    if server.address.eq_ignore_ascii_case(EMBEDDED) {
        return EngineConfig::Embedded;
    }
    EngineConfig::Temporal(server)
}
