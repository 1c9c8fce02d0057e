//! `Operators` and `Workflow`: assignments.

use std::ops::RangeInclusive;
use std::time::Duration;

use pia_assignments::AssignmentSettings;
use pia_kernel::Secret;

use super::error::Reason;
use super::field::Field;
use super::section::Section;
use super::setting::Setting;

/// `Workflow:Address` of the engine that needs no server.
const EMBEDDED: &str = "embedded";
/// Default of `Workflow:Address` outside of Development.
const DEFAULT_ADDRESS: &str = "workflow:7233";
const MAX_PLAINTEXT_HOURS: i64 = 87_600;
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

/// Configuration of assignments.
#[derive(Debug, Clone)]
pub struct OperatorsConfig {
    /// Engine that runs their steps; `None` if assignments are off.
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

/// Workflow engine that runs the steps of assignments.
#[derive(Debug, Clone)]
pub enum EngineConfig {
    /// Engine over the server's database.
    Embedded,
    /// Engine of a Temporal server.
    Temporal(WorkflowServer),
}

/// Temporal server, with the namespace and the task queue that are used.
#[derive(Debug, Clone)]
pub struct WorkflowServer {
    /// Host and port.
    pub address: String,
    /// Namespace that contains the workflows.
    pub namespace: String,
    /// Task queue that workers of this server poll.
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
        let assignments = read_assignments(&mut from, concurrency);
        let allows_private_webhooks = from.reload("AllowPrivateWebhooks").or(false);
        let allows_private_mcp_servers = from.reload("AllowPrivateMcpServers").or(false);

        let engine = read_engine(&mut all.section("Workflow"));

        Self {
            engine: is_enabled.then_some(engine),
            assignments,
            concurrency,
            allows_private_webhooks,
            allows_private_mcp_servers,
        }
    }
}

fn read_assignments(from: &mut Section<'_>, concurrency: u32) -> AssignmentSettings {
    let default = AssignmentSettings::default();
    let max_per_user = from
        .reload("MaxConcurrentAssignmentsPerUser")
        .within(default.max_per_user, 1..=1000)
        .min(concurrency);

    AssignmentSettings {
        max_steps: from.reload("MaxSteps").within(default.max_steps, 3..=50),
        wall_clock: read_duration(
            from.reload("WallClockTimeoutSeconds"),
            SECOND,
            default.wall_clock,
            10..=604_800,
        ),
        max_per_user,
        max_attempts: from.reload("MaxActivityAttempts").within(default.max_attempts, 1..=100),
        token_ceiling: from
            .reload("PerAssignmentTokenCeiling")
            .within(u32::try_from(default.token_ceiling).unwrap_or(u32::MAX), 1_000..=1_000_000_000)
            .into(),
        queued_grace: read_duration(
            from.reload("QueuedGraceMinutes"),
            MINUTE,
            default.queued_grace,
            1..=1440,
        ),
        max_restarts: from.reload("MaxReconcileAttempts").within(default.max_restarts, 1..=100),
        retention: read_duration(from.reload("RetentionDays"), DAY, default.retention, 1..=3650),
        plaintext_retention: HOUR
            * from.reload("PlaintextRetentionHours").or(PlaintextHours::default()).0,
    }
}

/// Reads a duration that is configured as a number of units.
fn read_duration(
    field: Field<'_>,
    unit: Duration,
    default: Duration,
    range: RangeInclusive<u32>,
) -> Duration {
    unit * field.within(count_units(default, unit), range)
}

/// Returns the number of these units in a duration.
fn count_units(duration: Duration, unit: Duration) -> u32 {
    u32::try_from(duration.as_secs() / unit.as_secs()).unwrap_or(u32::MAX)
}

/// Hours after which contents are deleted; the default if it is not positive.
struct PlaintextHours(u32);

impl Default for PlaintextHours {
    fn default() -> Self {
        Self(count_units(AssignmentSettings::default().plaintext_retention, HOUR))
    }
}

impl Setting for PlaintextHours {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        let number = text
            .trim()
            .parse::<i64>()
            .ok()
            .filter(|it| *it <= MAX_PLAINTEXT_HOURS)
            .ok_or(Reason::form("expected a whole number up to 87600"))?;
        let hours = u32::try_from(number).ok().filter(|it| *it > 0);
        Ok(hours.map_or_else(Self::default, Self))
    }

    fn format(&self) -> String {
        self.0.to_string()
    }
}

fn read_engine(from: &mut Section<'_>) -> EngineConfig {
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
