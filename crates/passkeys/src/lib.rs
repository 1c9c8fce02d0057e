//! Passkeys, checked by `webauthn-rs`.
