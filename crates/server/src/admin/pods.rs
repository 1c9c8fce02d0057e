//! `pia-server --provision-pod`: prepares a pod.

use std::sync::Arc;

use pia_assignments::Skill;
use pia_kernel::{Clock, LiveSetting};
use pia_pods::{ConnectorDraft, Connectors, Provisioned};
use pia_policy::{Feature, LicenceState};
use pia_settings::{AdminConfig, ProvisionCommand};
use pia_storage::Database;
use pia_storage_pods::{SqlConnectors, SqlPodRegistry};
use serde_json::json;

use super::{AdminError, AdminServices};

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
        let registry = Arc::new(SqlPodRegistry::new(db.clone()));
        let connectors = Connectors { store, registry, clock: Arc::clone(clock) };
        Self { connectors, licence, clock: Arc::clone(clock) }
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
                let draft = ConnectorDraft { name, groups, skill };
                Ok(self.connectors.create(None, draft).await?)
            }
            ProvisionCommand::IssueToken { connector } => {
                Ok(self.connectors.issue_token(None, connector).await?)
            }
        }
    }
}

/// Prepares a pod beside a running server.
pub async fn provision_pod(
    config: &AdminConfig,
    command: ProvisionCommand,
    clock: Arc<dyn Clock>,
) -> Result<PodProvisioned, AdminError> {
    let services = AdminServices::open(config, clock).await?;
    let provisioned = services.pods.run(command).await?;
    let Provisioned { connector, operator, token, groups, member_count } = provisioned;
    let warning = match (groups.is_empty(), member_count) {
        (true, _) => Some("warning: no group is granted, so the pod serves nothing"),
        (false, 0) => Some("warning: the groups have no members, so no chat can reach the pod"),
        (false, _) => None,
    };
    let object = json!({
        "connectorId": connector.to_string(),
        "operatorId": operator.map(|it| it.to_string()),
        "token": token.reveal(),
        "grantedGroupIds": groups.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "resolvedMemberCount": member_count,
    });
    Ok(PodProvisioned { output: format!("{object}\n"), warnings: warning.into_iter().collect() })
}
