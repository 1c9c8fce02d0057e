//! Passkeys, checked by `webauthn-rs`.

mod answer;
mod ceremony;
mod relying_party;

pub use ceremony::WebauthnCeremony;
pub use relying_party::PasskeysUnavailable;
