//! Client of identity providers, by OpenID Connect.

mod settings;

mod providers;

mod client;
mod discovery;
mod token;
mod user_info;

mod http;

pub use http::ProviderSetupError;
pub use providers::OpenIdProviders;
pub use settings::{IssuerRule, ProviderSettings, ProvidersSettings};
