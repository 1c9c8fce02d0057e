//! Settings of identity providers.

use std::collections::BTreeMap;
use std::time::Duration;

use pia_identity::Provider;
use pia_kernel::Secret;

/// Issuers accepted in a provider's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssuerRule {
    /// The authority itself, to the letter.
    Exact,
    /// Any tenant of the authority, which publishes a template of its issuers like Microsoft's
    /// common endpoint.
    AnyTenant,
}

/// Provider.
#[derive(Debug, Clone)]
pub struct ProviderSettings {
    /// Client id of this server.
    pub client_id: String,
    /// Secret that authenticates this server as that client; `None` for a
    /// public client.
    pub client_secret: Option<Secret<String>>,
    /// Address, to which `/.well-known/openid-configuration` belongs.
    pub authority: String,
    /// Issuers accepted in its tokens.
    pub issuer: IssuerRule,
    /// The one tenant whose people it is requested, in lower case; any that it
    /// has where none is said.
    pub tenant: Option<String>,
    /// Set when email addresses are accepted that the provider does not report
    /// as verified.
    pub trusts_email: bool,
    /// Requested scopes; `openid` is always requested.
    pub scopes: Vec<String>,
}

/// The providers that are set up.
#[derive(Debug, Clone)]
pub struct ProvidersSettings {
    /// Each by its name.
    pub providers: BTreeMap<Provider, ProviderSettings>,
    /// Timeout of a request to a provider.
    pub patience: Duration,
}
