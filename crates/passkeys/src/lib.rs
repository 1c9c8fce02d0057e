//! Passkeys, verified by `webauthn-rs`.
//!
//! `ceremony.rs` implements `PasskeyCeremony` of `identity`: begin there.
//! `relying_party.rs` derives from the public URL the name that passkeys are
//! bound to, and `response.rs` rejects what the library accepts and this
//! server does not. The crate stores nothing: the state of a challenge is
//! returned to the use case as text.

mod ceremony;
mod relying_party;
mod response;

pub use ceremony::WebauthnCeremony;
pub use relying_party::PasskeysUnavailable;
