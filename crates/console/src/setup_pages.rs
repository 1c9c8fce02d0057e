//! Services of the setup pages.

use std::sync::Arc;

use pia_identity::{Account, FirstAdmin, FirstAdminError, NewAdmin};
use pia_kernel::Secret;
use pia_policy::{InstallError, Licence, LicenceService};
use pia_web::{ApiError, Runner};

/// Services of the setup pages. The app stores them as its data.
#[derive(Clone)]
pub struct SetupPages {
    /// Installation of licences.
    pub licences: Arc<dyn LicenceService>,
    /// Creation of the first administrator.
    pub first_admin: FirstAdmin,
    /// Runner of use cases.
    pub runner: Runner,
}

impl SetupPages {
    /// Installs a licence. The outer error is one of the server itself.
    pub(crate) async fn install(
        &self,
        token: &str,
        text: impl Into<Vec<u8>>,
    ) -> Result<Result<Licence, InstallError>, ApiError> {
        let services = Arc::clone(&self.licences);
        let token = Secret::new(token.to_owned());
        let text = text.into();
        // Must run to its end: half-way, the licence would be installed and the
        // token still valid.
        let install = async move { Ok::<_, ApiError>(services.install(&token, &text).await) };
        self.runner.run(install).await
    }

    /// Creates the first administrator. The outer error is one of the server
    /// itself.
    pub(crate) async fn create_first_admin(
        &self,
        token: &str,
        admin: NewAdmin,
    ) -> Result<Result<Account, FirstAdminError>, ApiError> {
        let first_admin = self.first_admin.clone();
        let token = Secret::new(token.to_owned());
        let create =
            async move { Ok::<_, ApiError>(first_admin.create_first_admin(&token, admin).await) };
        self.runner.run(create).await
    }

    /// Returns whether there is no administrator yet.
    pub(crate) async fn lacks_admin(&self) -> Result<bool, ApiError> {
        let first_admin = self.first_admin.clone();
        self.runner.run(async move { first_admin.is_missing().await }).await
    }
}
