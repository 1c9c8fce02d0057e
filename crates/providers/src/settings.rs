//! How identity providers are set up.

use std::collections::BTreeMap;
use std::time::Duration;

use pia_identity::Provider;
use pia_kernel::Secret;

/// Who may have issued a provider's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssuerRule {
    /// The authority itself, to the letter.
    Exact,
    /// Any tenant of the authority, which publishes a template of its issuers
    /// as Microsoft's common one does.
    AnyTenant,
}

/// One provider.
#[derive(Debug, Clone)]
pub struct ProviderSettings {
    /// By which name it knows this server.
    pub client_id: String,
    /// How this server proves that; nothing for a public client.
    pub client_secret: Option<Secret<String>>,
    /// Its address, to which `/.well-known/openid-configuration` belongs.
    pub authority: String,
    /// Who may have issued its tokens.
    pub issuer: IssuerRule,
    /// The one tenant whose people it is asked for, in lower case; any that it
    /// has where none is said.
    pub tenant: Option<String>,
    /// Whether addresses are taken of which it does not say that it saw whose
    /// they are.
    pub trusts_email: bool,
    /// What it is asked to tell; `openid` in any case.
    pub scopes: Vec<String>,
}

/// The providers that are set up.
#[derive(Debug, Clone)]
pub struct ProvidersSettings {
    /// Each by its name.
    pub providers: BTreeMap<Provider, ProviderSettings>,
    /// How long one of them may take for an answer.
    pub patience: Duration,
}
