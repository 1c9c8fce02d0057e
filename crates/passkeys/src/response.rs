//! Checks of browsers' responses that `webauthn-rs` does not make.

use pia_identity::CeremonyError;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Supported credential type.
const KIND: &str = "public-key";
/// Optional members of a response that `webauthn-rs` does not accept as null.
const EXTENSIONS: [&str; 2] = ["clientExtensionResults", "extensions"];

/// Parses a response. An error names the invalid field of the request.
pub(crate) fn parse_response<T: DeserializeOwned>(response: &str) -> Result<T, CeremonyError> {
    let mut json: Value = serde_json::from_str(response)
        .map_err(|_malformed| CeremonyError::Malformed { field: "credential".to_owned() })?;
    if let Value::Object(members) = &mut json {
        members.retain(|name, it| !it.is_null() || !EXTENSIONS.contains(&name.as_str()));
    }

    serde_path_to_error::deserialize(json).map_err(|err| {
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

#[cfg(test)]
mod tests {
    use webauthn_rs::prelude::PublicKeyCredential;

    use super::*;

    fn response(extensions: &str) -> String {
        format!(
            r#"{{"id":"AQ","rawId":"AQ","type":"public-key","clientExtensionResults":{extensions},
            "response":{{"authenticatorData":"AQ","clientDataJSON":"AQ","signature":"AQ","userHandle":null}}}}"#
        )
    }

    #[test]
    fn extensions_may_be_null() {
        for extensions in ["null", "{}"] {
            assert!(parse_response::<PublicKeyCredential>(&response(extensions)).is_ok());
        }

        let refused = parse_response::<PublicKeyCredential>(&response("5")).unwrap_err();
        let field = "credential.clientExtensionResults".to_owned();
        assert!(matches!(refused, CeremonyError::Malformed { field: it } if it == field));
    }
}
