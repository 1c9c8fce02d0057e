//! Checks of browsers' responses that `webauthn-rs` does not make.

use pia_identity::CeremonyError;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Supported credential type.
const KIND: &str = "public-key";

/// Parses a response. An error names the invalid field of the request.
pub(crate) fn parse_response<T: DeserializeOwned>(response: &str) -> Result<T, CeremonyError> {
    let mut json = serde_json::Deserializer::from_str(response);
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

/// Rejects a response of another type, or from a frame on a page of another origin, which
/// `webauthn-rs` accepts at sign-in.
pub(crate) fn check(kind: &str, client_data: &[u8]) -> Result<(), CeremonyError> {
    if kind != KIND {
        return Err(CeremonyError::Malformed { field: "credential.type".to_owned() });
    }
    let malformed =
        || CeremonyError::Malformed { field: "credential.response.clientDataJSON".to_owned() };
    let parsed: ClientData = serde_json::from_slice(client_data).map_err(|_bytes| malformed())?;
    if parsed.cross_origin == Some(true) || parsed.top_origin.is_some() {
        return Err(CeremonyError::Refused("it was given on a page of another origin".to_owned()));
    }
    Ok(())
}
