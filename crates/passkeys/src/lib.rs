//! Passkeys, verified by `webauthn-rs`.

mod ceremony;
mod relying_party;
mod response;

pub use ceremony::WebauthnCeremony;
pub use relying_party::PasskeysUnavailable;
