//! Services of the account pages.

use std::sync::Arc;

use pia_identity::Provider;
use pia_kernel::{Language, RequestContext, Unavailable};
use pia_web::{ApiError, Runner};

use crate::account::origins::AddressLocations;
use crate::accounts::AccountService;

/// Services of the account pages. The app stores them as its data.
#[derive(Clone)]
pub struct AccountPages {
    /// Registration and recovery of accounts.
    pub accounts: Arc<dyn AccountService>,
    /// Name of the server.
    pub name: String,
    /// Identity providers that are configured.
    pub providers: Vec<Provider>,
    /// True if accounts may have passkeys: the public URL allows them.
    pub has_passkeys: bool,
    /// Public URL of the server.
    pub public_url: String,
    /// Locations of IP addresses, if a database is configured.
    pub locations: Option<Arc<dyn AddressLocations>>,
    /// Runner of use cases.
    pub runner: Runner,
}

impl AccountPages {
    /// Runs a use case for a client of this language. Emails are sent in it,
    /// whatever the browser prefers.
    pub(crate) async fn run_in_language<T: Send + 'static>(
        &self,
        language: Language,
        use_case: impl Future<Output = Result<T, Unavailable>> + Send + 'static,
    ) -> Result<T, ApiError> {
        let context = RequestContext { language: Some(language), ..RequestContext::current() };
        context.scope(self.runner.run(use_case)).await
    }
}
