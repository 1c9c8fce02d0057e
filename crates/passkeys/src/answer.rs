//! Checks of browsers' responses that `webauthn-rs` does not make.

use pia_identity::CeremonyError;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The one kind of credential that there is.
const KIND: &str = "public-key";

/// Reads an answer; what is wrong with it is reported by its place in the request.
pub(crate) fn parse_response<T: DeserializeOwned>(answer: &str) -> Result<T, CeremonyError> {
    let mut json = serde_json::Deserializer::from_str(answer);
    serde_path_to_error::deserialize(&mut json).map_err(|err| {
        let path = err.path().to_string();
        let field =
            if path == "." { "credential".to_owned() } else { format!("credential.{path}") };
        CeremonyError::Malformed { field }
    })
}

/// Client data: the browser's statement about the page, signed by the
/// authenticator.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientData {
    #[serde(default)]
    cross_origin: Option<bool>,
    #[serde(default)]
    top_origin: Option<String>,
}

/// Refuses an answer of another kind, and one that was given in a frame of
/// another's page, which `webauthn-rs` lets pass where somebody signs in.
pub(crate) fn check(kind: &str, client_data: &[u8]) -> Result<(), CeremonyError> {
    if kind != KIND {
        return Err(CeremonyError::Malformed { field: "credential.type".to_owned() });
    }
    let place =
        || CeremonyError::Malformed { field: "credential.response.clientDataJSON".to_owned() };
    let message: ClientData = serde_json::from_slice(client_data).map_err(|_bytes| place())?;
    if message.cross_origin == Some(true) || message.top_origin.is_some() {
        return Err(CeremonyError::Refused("it was given on a page of another origin".to_owned()));
    }
    Ok(())
}
