//! What the pages call.

use std::sync::Arc;

use pia_identity::{Account, FirstAdmin, FirstAdminError, NewAdmin};
use pia_kernel::Secret;
use pia_policy::{InstallError, Licence, LicenceDesk};
use pia_web::{ApiError, Runner};

/// What the pages call. The app holds it as its data.
#[derive(Clone)]
pub struct SetupPages {
    /// Where a licence is put in.
    pub desk: Arc<dyn LicenceDesk>,
    /// Where the first administrator is made.
    pub first_admin: FirstAdmin,
    /// Where use cases run.
    pub runner: Runner,
}

impl SetupPages {
    /// Puts a licence in. The outer failure is that of the server itself.
    pub(crate) async fn install(
        &self,
        token: &str,
        text: impl Into<Vec<u8>>,
    ) -> Result<Result<Licence, InstallError>, ApiError> {
        let (desk, token, text) =
            (Arc::clone(&self.desk), Secret::new(token.to_owned()), text.into());
        // Run to its end: half-way the licence would be in and the token not gone.
        let install = async move { Ok::<_, ApiError>(desk.install(&token, &text).await) };
        self.runner.run(install).await
    }

    /// Makes the first administrator. The outer failure is that of the server
    /// itself.
    pub(crate) async fn appoint(
        &self,
        token: &str,
        admin: NewAdmin,
    ) -> Result<Result<Account, FirstAdminError>, ApiError> {
        let (first_admin, token) = (self.first_admin.clone(), Secret::new(token.to_owned()));
        let appoint = async move { Ok::<_, ApiError>(first_admin.appoint(&token, admin).await) };
        self.runner.run(appoint).await
    }

    /// Whether nobody is administrator yet.
    pub(crate) async fn lacks_admin(&self) -> Result<bool, ApiError> {
        let first_admin = self.first_admin.clone();
        self.runner.run(async move { first_admin.is_missing().await }).await
    }
}
