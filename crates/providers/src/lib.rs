//! Client of identity providers, by OpenID Connect.
//!
//! Implements the port `IdentityProviders` of `identity`, which calls it twice in a
//! sign-in: `authorization_url` before the browser leaves for the provider, and
//! `exchange` when the browser returns with a code. `exchange` redeems the code
//! (`client.rs`), verifies the token (`token.rs`) and completes the user's data
//! (`user_info.rs`), with metadata and keys from `discovery.rs`. Read `providers.rs`
//! first. All requests go through `http.rs`, which has the limits.

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
