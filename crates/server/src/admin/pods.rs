//! `pia-server --provision-pod`, which prepares a pod, and `pia-server admin pods …`.
//!
//! `provision_pod` serves the first, `administer` the second.

use std::sync::Arc;

use pia_assignments::Skill;
use pia_kernel::{Clock, LiveSetting, Secret};
use pia_pods::{
    ConnectedPod, Connector, ConnectorDraft, Connectors, GrantedPods, NoToolServers, PodId,
    PodRegistry, Provisioned,
};
use pia_policy::{Feature, LicenceState, VerifyingKey};
use pia_settings::{PodsCommand, ProvisionCommand, ProvisionConfig};
use pia_storage::Database;
use pia_storage_pods::{SqlConnectors, SqlPodRegistry};
use serde_json::json;
use tokio_util::task::TaskTracker;

use super::{AdminError, line};
use crate::licence::LicenceFile;

/// Result of preparing a pod.
pub struct PodProvisioned {
    /// JSON object for standard output.
    pub output: String,
    /// Warnings for standard error.
    pub warnings: Vec<&'static str>,
}

/// Services that prepare pods, without a server around them.
pub(super) struct PodServices {
    connectors: Connectors,
    licence: LiveSetting<LicenceState>,
    clock: Arc<dyn Clock>,
}

impl PodServices {
    pub(super) fn open(
        db: &Database,
        licence: LiveSetting<LicenceState>,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let store = Arc::new(SqlConnectors::new(db.clone()));
        let registry: Arc<dyn PodRegistry> =
            Arc::new(SqlPodRegistry::new(db.clone(), TaskTracker::new()));
        let granted = GrantedPods::new(Arc::clone(&registry), Arc::clone(clock));
        let servers = Arc::new(NoToolServers);
        let connectors = Connectors { store, registry, granted, servers, clock: Arc::clone(clock) };
        Self { connectors, licence, clock: Arc::clone(clock) }
    }

    /// Runs a command, and returns what to print.
    pub(super) async fn administer(&self, command: PodsCommand) -> Result<String, AdminError> {
        match command {
            PodsCommand::List => self.list().await,
            PodsCommand::Revoke { connector } => {
                self.connectors.revoke_tokens(None, connector, None).await?;
                Ok(format!("Tokens of connector {connector} revoked; its pods are disconnected\n"))
            }
            PodsCommand::Drain { pod } => {
                self.connectors.drain(None, PodId(pod)).await?;
                Ok(format!("Pod {pod} ends after its calls in progress\n"))
            }
        }
    }

    async fn list(&self) -> Result<String, AdminError> {
        let connectors = self.connectors.list().await?;
        let pods = self.connectors.connected().await?;
        let mut output = String::new();
        for connector in connectors {
            let expires_at = connector.token_expires_at();
            let Connector { id, name, groups, mcp_url, .. } = connector;
            let until = match (mcp_url, expires_at) {
                (Some(url), _) => format!("MCP server {url}"),
                (None, Some(end)) => format!("token until {end}"),
                (None, None) => "no valid token".to_owned(),
            };

            let groups = groups.len();
            line(&mut output, format_args!("{name} ({id}), {groups} groups, {until}"));

            for pod in pods.iter().filter(|it| it.connector == id) {
                let ConnectedPod { description, host, connected_at, calls, failures, .. } = pod;
                let name = &description.name;
                let version = &description.version;
                let pod = pod.id.0;
                let tools = description.tools.len();
                line(
                    &mut output,
                    format_args!(
                        "  pod {pod}: {name} {version}, {tools} tools, on {host} since \
                         {connected_at}, {calls} calls, {failures} failed"
                    ),
                );
            }
        }

        if output.is_empty() {
            return Ok("No connectors; create one with `--provision-pod create`\n".to_owned());
        }

        Ok(output)
    }

    async fn run(&self, command: ProvisionCommand) -> Result<Provisioned, AdminError> {
        match command {
            ProvisionCommand::Create { name, groups, skill } => {
                let grants =
                    self.licence.get().includes(Feature::GroupManagement, self.clock.now());
                if !groups.is_empty() && !grants {
                    return Err(AdminError::NoGroups);
                }
                if skill.as_ref().is_some_and(|it| !Skill::is_name(it)) {
                    return Err(AdminError::SkillName);
                }

                let draft = ConnectorDraft { name, groups, skill, mcp: None };

                Ok(self.connectors.create(None, draft).await?)
            }
            ProvisionCommand::IssueToken { connector } => {
                Ok(self.connectors.issue_token(None, connector).await?)
            }
        }
    }
}

/// Prepares a pod beside a running server. Needs no keys: what it stores is hashed, and
/// its audit entries name nobody.
pub async fn provision_pod(
    config: &ProvisionConfig,
    command: ProvisionCommand,
    clock: Arc<dyn Clock>,
) -> Result<PodProvisioned, AdminError> {
    let db = pia_storage::start(config.database.startup.clone()).await?;
    let path = config.license.path.clone();
    let licence = LicenceFile::open(path, VerifyingKey::built_in(), Arc::clone(&clock));
    let services = PodServices::open(&db, licence.state(), &clock);

    let provisioned = services.run(command).await?;
    let Provisioned { connector, operator, token, groups, member_count } = provisioned;
    let warning = match (groups.is_empty(), member_count) {
        (true, _) => Some("warning: no group is granted, so the pod serves nothing"),
        (false, 0) => Some("warning: the groups have no members, so no chat can reach the pod"),
        (false, _) => None,
    };

    let object = json!({
        "connectorId": connector.to_string(),
        "operatorId": operator.map(|it| it.to_string()),
        "token": token.map(Secret::reveal),
        "grantedGroupIds": groups.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "resolvedMemberCount": member_count,
    });

    Ok(PodProvisioned { output: format!("{object}\n"), warnings: warning.into_iter().collect() })
}
