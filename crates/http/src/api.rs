//! Use cases that handlers call.
//!
//! `server/src/compose/surfaces.rs` fills `Api` once; all workers share it. Handlers
//! call `run`, never a use case directly, unless it needs no database. The methods
//! below `run` are those that several areas need.

use std::sync::Arc;
use std::time::Duration;

use pia_assistant::{Credits, Models, UsageReport};
use pia_e2ee::{E2ee, KeyOwner};
use pia_identity::{Administration, CallerState, Identity, ReauthProof, ScimTokens};
use pia_kernel::{AuditLog, ChainReport, Clock, LiveSetting, MaintenanceLog, Secret, SessionId};
use pia_outbox::MailQueue;
use pia_pods::{Connectors, ToolPlane};
use pia_policy::{
    ClientPolicies, Feedback, Groups, LicenceReplacement, ManagedPersonas, Plugins,
    SettingOverrides, TrustedCertificates,
};
use pia_sync::Chats;
use pia_web::{ApiError, ConcurrencyLimiter, Runner};

use crate::{
    AssignmentsApi, BrowserRedirects, HostStatus, HttpError, KnowledgeApi, Readiness, SyncApi,
};

/// Use cases that handlers call.
#[derive(Clone)]
pub struct Api {
    /// Accounts and their owners.
    pub identity: Identity,
    /// Administration of other users' accounts.
    pub administration: Administration,
    /// Cookies and redirects of browsers that sign in at identity providers.
    pub browsers: BrowserRedirects,
    /// Synchronisation of devices.
    pub sync: SyncApi,
    /// Chats that users store on the server.
    pub chats: Chats,
    /// Keys of encrypted accounts, and their devices.
    pub e2ee: E2ee,
    /// Settings that administrators publish to clients.
    pub client_policies: ClientPolicies,
    /// Groups, their settings and members.
    pub groups: Groups,
    /// Personas that administrators publish to groups.
    pub personas: ManagedPersonas,
    /// Plugins that administrators publish to groups.
    pub plugins: Plugins,
    /// Certificates of the signers of plugins.
    pub certificates: TrustedCertificates,
    /// Knowledge bases and their documents.
    pub knowledge: KnowledgeApi,
    /// Assignments, and the operators that they are handed to.
    pub assignments: AssignmentsApi,
    /// Connectors, and the pods that are connected with their tokens.
    pub connectors: Connectors,
    /// Tools of the pods that are connected.
    pub tools: ToolPlane,
    /// Audit log that administrators read and verify.
    pub audit: Arc<dyn AuditLog>,
    /// Time for which entries of the audit log are stored.
    pub audit_retention: LiveSetting<Duration>,
    /// Clock of the verification of the audit log.
    pub clock: Arc<dyn Clock>,
    /// Reports on answers.
    pub feedback: Feedback,
    /// Replacement of the licence.
    pub licences: LicenceReplacement,
    /// Settings that administrators change while the server runs.
    pub settings: SettingOverrides,
    /// Tokens of identity providers that manage users and groups.
    pub scim_tokens: ScimTokens,
    /// Credits left to a caller.
    pub credits: Credits,
    /// Report on usage.
    pub usage: UsageReport,
    /// Catalogue of models, and tests of its entries.
    pub models: Models,
    /// Outbox of emails.
    pub mails: MailQueue,
    /// Last runs of maintenance tasks.
    pub maintenance: Arc<dyn MaintenanceLog>,
    /// Dependencies that `/ready` checks.
    pub readiness: Arc<dyn Readiness>,
    /// Machine of this instance.
    pub host: Arc<dyn HostStatus>,
    /// True if `/openapi/v1.json` is published.
    pub openapi: LiveSetting<bool>,
    /// Runner of use cases.
    pub runner: Runner,
    /// Concurrency limit of the use cases that hash passwords.
    pub sign_ins: ConcurrencyLimiter,
}

impl Api {
    /// Runs a use case, which continues even if the client disconnects, with the
    /// limits of [`Runner::run`].
    pub async fn run<T, E, F>(
        self: &Arc<Self>,
        use_case: impl FnOnce(Arc<Self>) -> F,
    ) -> Result<T, HttpError>
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Into<HttpError> + Send + 'static,
    {
        let work = use_case(Arc::clone(self));
        let translated = async { work.await.map_err(|err| ApiError::from(err.into())) };
        Ok(self.runner.run(translated).await?)
    }

    /// Verifies the audit log: no entry was changed, or deleted before its
    /// retention ended.
    pub async fn verify_audit_log(self: &Arc<Self>) -> Result<ChainReport, HttpError> {
        let since = self.clock.now() - *self.audit_retention.get();
        self.run(|api| async move { api.audit.verify(since).await }).await
    }

    /// Rejects a caller who neither presents a proof nor signed in, or presented
    /// one, within the last ten minutes. Consumes the code of a proof.
    pub async fn require_owner(
        self: &Arc<Self>,
        caller: CallerState,
        proof: Option<ReauthProof>,
    ) -> Result<(), ApiError> {
        self.run(|api| async move {
            let reauthenticator = &api.identity.reauthenticator;
            match proof {
                Some(proof) => reauthenticator.prove(caller, proof).await,
                None => reauthenticator.require(caller, None).await,
            }
        })
        .await
        .map_err(Into::into)
    }

    /// Rejects a caller whose passkey did not sign the challenge of a sign-in. Otherwise their
    /// session needs no other proof for ten minutes.
    pub async fn prove_by_passkey(
        self: &Arc<Self>,
        caller: CallerState,
        token: Secret<String>,
        response: String,
    ) -> Result<(), ApiError> {
        self.run(|api| async move {
            api.identity.passkey_sign_in.prove_owner(caller, &token, &response).await
        })
        .await
        .map_err(Into::into)
    }

    /// Returns the caller, and whether they have reauthenticated recently.
    /// Consumes the code of a proof.
    pub(crate) async fn owner(
        &self,
        caller: CallerState,
        proof: Option<ReauthProof>,
    ) -> Result<KeyOwner, ApiError> {
        let reauthentication = self.identity.reauthenticator.check(caller, proof).await?;
        Ok(KeyOwner { user: caller.user, reauthentication })
    }

    /// Returns the session of a refresh token.
    pub(crate) async fn session_of(
        self: &Arc<Self>,
        token: &Secret<String>,
    ) -> Result<Option<SessionId>, ApiError> {
        let token = token.clone();
        self.run(|api| async move { api.identity.sessions.session_of(&token).await })
            .await
            .map_err(Into::into)
    }
}
