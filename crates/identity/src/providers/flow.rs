//! Sign-ins in progress at a provider.

use pia_kernel::Secret;
use serde::{Deserialize, Serialize, Serializer};

use crate::providers::provider::Provider;
use crate::providers::redirect_target::RedirectTarget;

/// State with which a sign-in resumes when the browser returns from the provider. It is serialised
/// to be sealed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProviderFlow {
    /// Provider that the browser was redirected to.
    pub provider: Provider,
    /// Page or program that the user returns to.
    pub destination: RedirectTarget,
    /// State of the program that started it, returned to it at the end.
    pub state: Option<String>,
    /// Nonce that the provider's token must contain.
    #[serde(serialize_with = "exposed")]
    pub nonce: Secret<String>,
    /// PKCE verifier of the challenge that was sent.
    #[serde(serialize_with = "exposed")]
    pub verifier: Secret<String>,
}

fn exposed<S: Serializer>(secret: &Secret<String>, to: S) -> Result<S::Ok, S::Error> {
    secret.expose().serialize(to)
}
