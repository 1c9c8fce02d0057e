//! `OAuth`: identity providers, and the credentials of this server with them.
//!
//! A provider is on once it has a `ClientId`. Each provider has its own rule for the
//! authority, the URL that its keys and endpoints are discovered at:
//! `read_authority`.

use std::collections::BTreeMap;
use std::time::Duration;

use pia_identity::Provider;
use pia_kernel::Secret;
use pia_providers::{IssuerRule, ProviderSettings, ProvidersSettings};
use url::{Host, Url};

use super::error::Reason;
use super::section::Section;
use super::setting::Setting;

/// Base URL of Microsoft's accounts, before a tenant.
const MICROSOFT: &str = "https://login.microsoftonline.com";

const MIN_TIMEOUT: Duration = Duration::from_millis(100);
const MAX_TIMEOUT: Duration = Duration::from_mins(1);

/// Configuration of sign-ins at identity providers.
#[derive(Debug, Clone)]
pub struct OAuth {
    /// Configured providers, and the timeout of their responses.
    pub providers: ProvidersSettings,
}

impl OAuth {
    pub(super) fn from_section(from: &mut Section<'_>) -> Self {
        let read = |provider: Provider| {
            let settings = read_provider(&mut from.section(provider.name()), provider)?;
            Some((provider, settings))
        };
        let providers: BTreeMap<_, _> = Provider::ALL.into_iter().filter_map(read).collect();
        let timeout =
            from.reload("Timeout").within(Duration::from_secs(10), MIN_TIMEOUT..=MAX_TIMEOUT);
        Self { providers: ProvidersSettings { providers, timeout } }
    }
}

/// Reads a provider; `None` if it has no client id and so is disabled.
fn read_provider(from: &mut Section<'_>, provider: Provider) -> Option<ProviderSettings> {
    let client_id = from.reload("ClientId").optional::<String>();
    let client_secret = from.reload("ClientSecret").optional::<Secret<String>>();

    let tenant = match provider {
        Provider::EntraId => from.reload("TenantId").optional::<TenantId>().map(|it| it.0),
        Provider::Google | Provider::Microsoft | Provider::Oidc => None,
    };
    let authority = read_authority(from, provider, tenant.as_deref(), client_id.is_some());
    let trusts_email = from.reload("TrustEmail").or(provider == Provider::EntraId);
    let scopes = from.reload("Scopes").or(Scopes::default()).0;

    if client_id.is_none() && client_secret.is_some() {
        from.warn("ClientSecret", "is not used: a provider is on once it has a ClientId");
    }

    let issuer = match provider {
        Provider::Microsoft => IssuerRule::AnyTenant,
        Provider::Google | Provider::EntraId | Provider::Oidc => IssuerRule::Exact,
    };

    Some(ProviderSettings {
        client_id: client_id?,
        client_secret,
        authority: authority?,
        issuer,
        tenant,
        trusts_email,
        scopes,
    })
}

/// Reads the authority of a provider. Reports a missing one if the provider is
/// enabled.
fn read_authority(
    from: &mut Section<'_>,
    provider: Provider,
    tenant: Option<&str>,
    is_enabled: bool,
) -> Option<String> {
    match provider {
        Provider::Google => {
            let default = Authority("https://accounts.google.com".to_owned());
            Some(from.reload("Authority").or(default).0)
        }
        Provider::Microsoft => {
            let default = Authority(format!("{MICROSOFT}/common/v2.0"));
            Some(from.reload("Authority").or(default).0)
        }
        Provider::EntraId => {
            let configured = from.reload("Authority").optional::<Authority>().map(|it| it.0);
            let authority = configured.or_else(|| Some(format!("{MICROSOFT}/{}/v2.0", tenant?)));
            if is_enabled && authority.is_none() {
                let reason = Reason::combination("needs the TenantId, or an Authority");
                from.refuse("ClientId", reason);
            }
            authority
        }
        Provider::Oidc => {
            let authority = from.reload("Authority").optional::<Authority>().map(|it| it.0);
            if is_enabled && authority.is_none() {
                from.refuse("ClientId", Reason::combination("needs an Authority"));
            }
            authority
        }
    }
}

/// Base URL of a provider, compared with its issuer byte by byte.
struct Authority(String);

impl Setting for Authority {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        let form = || Reason::form("expected a URL such as https://login.example.com");
        let text = text.trim();
        let url = Url::parse(text).map_err(|_err| form())?;
        let is_loopback = match url.host().ok_or_else(form)? {
            Host::Domain(name) => name == "localhost",
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.is_loopback(),
        };

        if url.scheme() != "https" && !(url.scheme() == "http" && is_loopback) {
            return Err(Reason::form("expected an https address, or one of this machine"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Reason::form("expected a URL without a name or a password in it"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(Reason::form("expected a URL without `?` and `#`"));
        }

        Ok(Self(text.to_owned()))
    }

    fn format(&self) -> String {
        self.0.clone()
    }
}

/// Tenant, by its id only: its issuer contains the id.
struct TenantId(String);

impl Setting for TenantId {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        let text = text.trim().to_ascii_lowercase();
        let lengths: Vec<usize> = text.split('-').map(str::len).collect();
        let is_hex = text.bytes().all(|it| it.is_ascii_hexdigit() || it == b'-');
        if lengths != [8, 4, 4, 4, 12] || !is_hex {
            return Err(Reason::form("expected the tenant's id, a GUID"));
        }
        Ok(Self(text))
    }

    fn format(&self) -> String {
        self.0.clone()
    }
}

/// Scopes requested from a provider, separated by blanks or commas.
struct Scopes(Vec<String>);

impl Default for Scopes {
    fn default() -> Self {
        Self(["openid", "email", "profile"].map(str::to_owned).to_vec())
    }
}

impl Setting for Scopes {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        let scopes: Vec<String> =
            text.split([' ', ',']).filter(|it| !it.is_empty()).map(str::to_owned).collect();
        let is_allowed =
            |scope: &String| scope.bytes().all(|it| it.is_ascii_graphic() && it != b'"');
        if !scopes.iter().all(is_allowed) {
            return Err(Reason::form("expected names of scopes with blanks between"));
        }
        if !scopes.iter().any(|it| it == "openid") {
            return Err(Reason::form("expected `openid` among the scopes"));
        }
        Ok(Self(scopes))
    }

    fn format(&self) -> String {
        self.0.join(" ")
    }
}
