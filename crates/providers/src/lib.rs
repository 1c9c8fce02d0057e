//! Client of identity providers, by OpenID Connect.

mod client;
mod discovery;
mod http;
mod providers;
mod settings;
mod token;
mod user_info;

pub use http::ProviderSetupError;
pub use providers::OpenIdProviders;
pub use settings::{IssuerRule, ProviderSettings, ProvidersSettings};
