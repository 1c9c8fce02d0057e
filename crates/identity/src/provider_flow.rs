//! A sign-in that is at a provider.

use pia_kernel::Secret;
use serde::{Deserialize, Serialize, Serializer};

use crate::redirect_target::RedirectTarget;
use crate::provider::Provider;

/// What a sign-in goes on with when the browser comes back from the provider.
/// It is written out to be sealed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProviderFlow {
    /// At which provider it is.
    pub provider: Provider,
    /// Where it leads.
    pub destination: RedirectTarget,
    /// What whoever began it wants to hear again.
    pub state: Option<String>,
    /// What the provider's token must hold.
    #[serde(serialize_with = "exposed")]
    pub nonce: Secret<String>,
    /// What the provider was challenged with.
    #[serde(serialize_with = "exposed")]
    pub verifier: Secret<String>,
}

fn exposed<S: Serializer>(secret: &Secret<String>, to: S) -> Result<S::Ok, S::Error> {
    secret.expose().serialize(to)
}
