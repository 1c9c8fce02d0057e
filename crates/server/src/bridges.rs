//! Adapters between domains, and between a surface and the domains.

mod context_writer;
mod embedded_engine;
mod embedder;
mod feature_licence;
mod group_rules;
mod group_watch;
mod knowledge;
mod mcp_servers;
mod page_accounts;
mod personas;
mod pod_tools;
mod reranker;
mod running_config;
mod step_executor;
mod waiting_devices;

use async_trait::async_trait;
use pia_identity::SecretBox;
use pia_kernel::{Secret, Unavailable, UserId};
use pia_sealing::{SealContext, Sealer, UnsealError};

pub(crate) use context_writer::ProviderContextWriter;
pub(crate) use embedded_engine::EmbeddedEngine;
pub(crate) use embedder::ProviderEmbedder;
pub(crate) use feature_licence::FeatureLicence;
pub(crate) use group_rules::PolicyGroupRules;
pub(crate) use group_watch::GroupCaches;
pub(crate) use knowledge::RetrievedKnowledge;
pub(crate) use mcp_servers::McpServers;
pub(crate) use page_accounts::PageAccounts;
pub(crate) use personas::PolicyPersonas;
pub(crate) use pod_tools::PodTools;
pub(crate) use reranker::ProviderReranker;
pub(crate) use running_config::RunningConfig;
pub(crate) use step_executor::ProxySteps;
pub(crate) use waiting_devices::WaitingDevices;

/// Identity's secrets, sealed under the master key.
pub(crate) struct SealedSecrets(pub(crate) Sealer);

/// Returns the context of a secret: a user has one of each purpose.
fn seal_context<'a>(user: &'a UserId, purpose: &'static str) -> SealContext<'a> {
    SealContext { purpose, row: user.0.as_bytes() }
}

#[async_trait]
impl SecretBox for SealedSecrets {
    async fn seal(
        &self,
        user: UserId,
        purpose: &'static str,
        secret: &Secret<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, Unavailable> {
        self.0.seal(user, seal_context(&user, purpose), secret).await
    }

    async fn open(
        &self,
        user: UserId,
        purpose: &'static str,
        sealed: &[u8],
    ) -> Result<Option<Secret<Vec<u8>>>, Unavailable> {
        match self.0.open(user, seal_context(&user, purpose), sealed).await {
            Ok(secret) => Ok(Some(secret)),
            Err(UnsealError::Unavailable(err)) => Err(err),
            Err(
                err @ (UnsealError::OtherKey(_)
                | UnsealError::Shredded
                | UnsealError::Malformed
                | UnsealError::Forged),
            ) => {
                tracing::error!(user.id = %user, purpose, error = %err, "secret could not be decrypted");
                Ok(None)
            }
        }
    }

    fn is_outdated(&self, sealed: &[u8]) -> bool {
        self.0.is_outdated(sealed)
    }
}
