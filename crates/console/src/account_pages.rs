//! What the pages of accounts call.

use std::sync::Arc;

use pia_kernel::{Language, RequestContext, Unavailable};
use pia_web::{ApiError, Runner};

use crate::accounts::AccountDesk;

/// What the pages of accounts call. The app holds it as its data.
#[derive(Clone)]
pub struct AccountPages {
    /// Where accounts are made, and come back into.
    pub desk: Arc<dyn AccountDesk>,
    /// What the server is called.
    pub name: String,
    /// Under which address browsers know the server.
    pub public_url: String,
    /// Where use cases run.
    pub runner: Runner,
}

impl AccountPages {
    /// Runs a use case for a reader of this language: letters go out in it,
    /// whatever the browser prefers.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        language: Language,
        use_case: impl Future<Output = Result<T, Unavailable>> + Send + 'static,
    ) -> Result<T, ApiError> {
        let origin = RequestContext { language: Some(language), ..RequestContext::current() };
        origin.scope(self.runner.run(use_case)).await
    }
}
