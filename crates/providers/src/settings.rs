//! Settings of identity providers.

use std::collections::BTreeMap;
use std::time::Duration;

use pia_identity::Provider;
use pia_kernel::Secret;

/// Issuers accepted in a provider's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssuerRule {
    /// The authority itself, exactly.
    Exact,
    /// Any tenant of the authority, which publishes a template of its issuers, like Microsoft's
    /// common endpoint.
    AnyTenant,
}

/// Settings of one provider.
#[derive(Debug, Clone)]
pub struct ProviderSettings {
    /// Client id of this server.
    pub client_id: String,
    /// Secret that authenticates this server as that client; `None` for a
    /// public client.
    pub client_secret: Option<Secret<String>>,
    /// URL to which `/.well-known/openid-configuration` is appended.
    pub authority: String,
    /// Issuers accepted in its tokens.
    pub issuer: IssuerRule,
    /// Tenant whose users are accepted, in lower case; `None` for any.
    pub tenant: Option<String>,
    /// True if email addresses are accepted that the provider does not report as verified.
    pub trusts_email: bool,
    /// Requested scopes; `openid` is always requested.
    pub scopes: Vec<String>,
}

/// Settings of all configured providers.
#[derive(Debug, Clone)]
pub struct ProvidersSettings {
    /// Settings of the providers that the operator has set up.
    pub providers: BTreeMap<Provider, ProviderSettings>,
    /// Timeout of a request to a provider.
    pub timeout: Duration,
}
