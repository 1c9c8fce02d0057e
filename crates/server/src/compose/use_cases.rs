//! Use cases of all domains.

use std::sync::Arc;

use pia_e2ee::E2ee;
use pia_http::SyncApi;
use pia_identity::{Administration, Identity, Provisioning};
use pia_policy::{
    ClientPolicies, Feedback, ManagedPersonas, Plugins, SettingOverrides, TrustedCertificates,
};
use pia_storage_policy::{
    SqlCertificates, SqlClientPolicies, SqlFeedback, SqlManagedPersonas, SqlPlugins,
};
use pia_sync::Chats;
use pia_uploads::FileReader;

use super::administration::{AdministrationParts, administration};
use super::identity::{self, IdentityParts};
use super::infrastructure::Infrastructure;
use super::lifecycle::Lifecycle;
use super::{ComposeError, chats, e2ee, provisioning, sync};

/// Use cases of all domains, one value for each domain.
pub(super) struct UseCases {
    pub(super) identity: Identity,
    pub(super) identity_parts: IdentityParts,
    pub(super) administration: Administration,
    pub(super) lifecycle: Lifecycle,
    pub(super) sync: SyncApi,
    pub(super) chats: Chats,
    pub(super) e2ee: E2ee,
    pub(super) client_policies: ClientPolicies,
    pub(super) personas: ManagedPersonas,
    pub(super) plugins: Plugins,
    pub(super) certificates: TrustedCertificates,
    pub(super) feedback: Feedback,
    pub(super) settings: SettingOverrides,
    pub(super) provisioning: Provisioning,
}

impl UseCases {
    pub(super) fn compose(
        base: &Infrastructure<'_>,
        settings: SettingOverrides,
    ) -> Result<Self, ComposeError> {
        let identity_parts = IdentityParts::compose(base)?;
        let lifecycle = Lifecycle::compose(base);

        let parts = AdministrationParts {
            seats: Arc::clone(&identity_parts.seats),
            callers: identity_parts.callers.clone(),
            public_url: base.public_url(),
            clock: base.clock(),
        };

        let e2ee = e2ee::compose(base);
        let administration = administration(&base.db, parts);
        Ok(Self {
            identity: identity::compose(base, &identity_parts, &lifecycle.eraser)?,
            provisioning: provisioning::compose(base, &identity_parts, &administration),
            identity_parts,
            administration,
            lifecycle,
            sync: sync::compose(base, e2ee.devices.clone()),
            chats: chats::compose(base),
            e2ee,
            client_policies: ClientPolicies::new(
                Arc::new(SqlClientPolicies::new(base.db.clone())),
                base.clock(),
            ),
            personas: ManagedPersonas::new(
                Arc::new(SqlManagedPersonas::new(base.db.clone())),
                base.clock(),
            ),
            plugins: Plugins::new(
                Arc::new(SqlPlugins::new(base.db.clone())),
                Arc::new(FileReader),
                base.clock(),
            ),
            certificates: TrustedCertificates::new(
                Arc::new(SqlCertificates::new(base.db.clone())),
                Arc::new(FileReader),
                base.clock(),
            ),
            feedback: Feedback::new(
                Arc::new(SqlFeedback::new(base.db.clone())),
                base.config.follow(|it| it.feedback.clone()),
                base.mail.clone(),
                base.clock(),
            ),
            settings,
        })
    }
}
