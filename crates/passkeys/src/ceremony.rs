//! WebAuthn ceremonies: challenges for browsers, and verification of their
//! responses.
//!
//! A ceremony has two halves, `begin_…` and `finish_…`; the serialised state
//! of the first is input of the second. At a sign-in `claimant` comes
//! between: it reads from the unverified response which passkey the use case
//! must load.

use std::time::Duration;

use pia_identity::{
    Account, Ceremony, CeremonyError, ClaimedPasskey, PasskeyCeremony, PasskeyCredential,
};
use pia_kernel::{Secret, Unavailable, UserId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use webauthn_rs::prelude::{
    Credential, DiscoverableAuthentication, ParsedAttestation, Passkey, PasskeyRegistration,
    PublicKeyCredential, RegisterPublicKeyCredential, Webauthn, WebauthnBuilder, WebauthnError,
};

use crate::relying_party::{PasskeysUnavailable, RelyingParty};
use crate::response::{check, parse_response};

/// Time that browsers grant the user to respond, equal to a challenge's lifetime
/// in `identity/src/passkeys/options.rs`.
const TIMEOUT: Duration = Duration::from_mins(5);
/// Maximum length of a credential id, in bytes.
const MAX_CREDENTIAL_BYTES: usize = 1023;

/// WebAuthn ceremonies at one origin.
#[derive(Debug, Clone)]
pub struct WebauthnCeremony(Webauthn);

impl WebauthnCeremony {
    /// Creates the ceremonies of a server at this public URL; authenticators display `name` next to
    /// the account.
    pub fn at(public_url: &str, name: &str) -> Result<Self, PasskeysUnavailable> {
        let RelyingParty { id, origin } = RelyingParty::at(public_url)?;
        WebauthnBuilder::new(&id, &origin)
            .and_then(|it| it.rp_name(name).timeout(TIMEOUT).build())
            .map(Self)
            .map_err(|_err| PasskeysUnavailable::Unknown)
    }
}

impl PasskeyCeremony for WebauthnCeremony {
    fn begin_registration(
        &self,
        account: &Account,
        existing: Vec<Vec<u8>>,
    ) -> Result<Ceremony, Unavailable> {
        let name = &account.email;
        let user = account.user.0;
        let display_name = account.display_name.as_ref().unwrap_or(name);
        let (challenge, state) = self
            .0
            .start_passkey_registration(user, name, display_name, Some(existing))
            .map_err(unavailable)?;

        let mut options = serde_json::to_value(challenge.public_key).map_err(unavailable)?;
        // webauthn-rs discourages resident keys, which sign-in without a user name requires.
        let selection = options.get_mut("authenticatorSelection").and_then(Value::as_object_mut);
        if let Some(selection) = selection {
            selection.insert("residentKey".to_owned(), json!("required"));
            selection.insert("requireResidentKey".to_owned(), json!(true));
        }

        Ok(Ceremony { options: options.to_string(), state: serialize_state(&state)? })
    }

    fn finish_registration(
        &self,
        state: &Secret<String>,
        response: &str,
    ) -> Result<PasskeyCredential, CeremonyError> {
        let state: PasskeyRegistration = deserialize(state.expose())?;
        let response: RegisterPublicKeyCredential = parse_response(response)?;
        check(&response.type_, &response.response.client_data_json)?;
        let passkey = self.0.finish_passkey_registration(&response, &state).map_err(refused)?;
        let mut credential = Credential::from(passkey);
        if !(1..=MAX_CREDENTIAL_BYTES).contains(&credential.cred_id.len()) {
            return Err(CeremonyError::Refused("the passkey's id is too long".to_owned()));
        }

        // Attestation was not requested and is not stored.
        credential.attestation = ParsedAttestation::default();
        // The store compares the counter; with zero here, webauthn-rs never reports one that went
        // back.
        let counter = std::mem::take(&mut credential.counter);
        let id = credential.cred_id.clone();
        let key = serde_json::to_string(&credential).map_err(unreadable)?;

        Ok(PasskeyCredential { id, key, counter })
    }

    fn begin_sign_in(&self) -> Result<Ceremony, Unavailable> {
        let (challenge, state) = self.0.start_discoverable_authentication().map_err(unavailable)?;
        // Omits the mediation that webauthn-rs suggests: the page decides about autofill.
        let options = serde_json::to_string(&challenge.public_key).map_err(unavailable)?;
        Ok(Ceremony { options, state: serialize_state(&state)? })
    }

    fn claimant(&self, response: &str) -> Result<ClaimedPasskey, CeremonyError> {
        let response: PublicKeyCredential = parse_response(response)?;
        let (user, credential) =
            self.0.identify_discoverable_authentication(&response).map_err(refused)?;
        Ok(ClaimedPasskey { credential: credential.to_vec(), user: UserId(user) })
    }

    fn finish_sign_in(
        &self,
        state: &Secret<String>,
        response: &str,
        key: &str,
    ) -> Result<u32, CeremonyError> {
        let state: DiscoverableAuthentication = deserialize(state.expose())?;
        let passkey: Passkey = Passkey::from(deserialize::<Credential>(key)?);
        let response: PublicKeyCredential = parse_response(response)?;
        check(&response.type_, &response.response.client_data_json)?;
        let verified = self
            .0
            .finish_discoverable_authentication_v2(&response, state, &passkey)
            .map_err(refused)?;
        Ok(verified.counter())
    }
}

fn serialize_state(state: &impl Serialize) -> Result<Secret<String>, Unavailable> {
    serde_json::to_string(state).map(Secret::new).map_err(unavailable)
}

fn deserialize<T: DeserializeOwned>(stored: &str) -> Result<T, CeremonyError> {
    serde_json::from_str(stored).map_err(unreadable)
}

#[expect(clippy::needless_pass_by_value, reason = "an argument of `map_err`")]
fn refused(err: WebauthnError) -> CeremonyError {
    CeremonyError::Refused(err.to_string())
}

#[expect(clippy::needless_pass_by_value, reason = "an argument of `map_err`")]
fn unreadable(err: serde_json::Error) -> CeremonyError {
    CeremonyError::Unreadable(err.to_string())
}

fn unavailable(err: impl std::error::Error + Send + Sync + 'static) -> Unavailable {
    Unavailable::new("passkeys", err)
}

#[cfg(test)]
mod tests;
