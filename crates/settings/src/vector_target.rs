//! Vector store that a setting names.

use std::path::{Path, PathBuf};

use pia_kernel::Secret;
use url::Url;

/// Prefix of a folder.
const EMBEDDED: &str = "embedded:";

/// Vector store that a setting names.
#[derive(Debug, Clone)]
pub enum VectorTarget {
    /// Engine within this process, with its files in this folder.
    Embedded(PathBuf),
    /// Engine of a Qdrant server.
    Server {
        /// URL of its gRPC port.
        endpoint: String,
        /// API key of the server; `None` if it requires none.
        key: Option<Secret<String>>,
    },
}

/// Reasons why a setting names no vector store. None repeats the setting, which
/// may contain a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum VectorTargetError {
    /// Neither a folder nor an address.
    #[error("must be embedded:FOLDER, the URL of a server, or Endpoint=URL;Key=KEY")]
    Form,
    /// Folder is missing.
    #[error("embedded: must be followed by a folder")]
    Folder,
    /// Address is not one of a server.
    #[error("the URL must be http or https, with a host and a port alone: http://localhost:6334")]
    Endpoint,
    /// Key cannot be sent.
    #[error("the key must consist of visible ASCII characters")]
    Key,
}

impl VectorTarget {
    /// Parses `embedded:FOLDER`, the URL of a server's gRPC port, or
    /// `Endpoint=URL;Key=KEY`.
    pub(super) fn parse(text: &str) -> Result<Self, VectorTargetError> {
        let text = text.trim();
        if let Some(folder) = text.strip_prefix(EMBEDDED) {
            let folder = folder.trim();
            return if folder.is_empty() {
                Err(VectorTargetError::Folder)
            } else {
                Ok(Self::Embedded(folder.into()))
            };
        }
        if text.starts_with("http://") || text.starts_with("https://") {
            return Ok(Self::Server { endpoint: parse_endpoint(text)?, key: None });
        }

        parse_pairs(text)
    }

    /// Returns the store with its folder below `dir`, unless that is absolute.
    pub(super) fn in_folder(self, dir: &Path) -> Self {
        match self {
            Self::Embedded(folder) => Self::Embedded(dir.join(folder)),
            server @ Self::Server { .. } => server,
        }
    }

    /// Formats the connection string, with its key.
    pub(super) fn format(&self) -> String {
        match self {
            Self::Embedded(folder) => format!("{EMBEDDED}{}", folder.display()),
            Self::Server { endpoint, key: None } => endpoint.clone(),
            Self::Server { endpoint, key: Some(key) } => {
                format!("Endpoint={endpoint};Key={}", key.expose())
            }
        }
    }
}

/// Parses pairs of names and values.
fn parse_pairs(text: &str) -> Result<VectorTarget, VectorTargetError> {
    let mut url = None;
    let mut secret = None;
    for pair in text.split(';').map(str::trim).filter(|it| !it.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or(VectorTargetError::Form)?;
        let name = name.trim();
        let value = value.trim();
        let previous = if name.eq_ignore_ascii_case("Endpoint") {
            url.replace(parse_endpoint(value)?)
        } else if name.eq_ignore_ascii_case("Key") {
            secret.replace(parse_key(value)?)
        } else {
            return Err(VectorTargetError::Form);
        };

        if previous.is_some() {
            return Err(VectorTargetError::Form);
        }
    }

    let endpoint = url.ok_or(VectorTargetError::Form)?;

    Ok(VectorTarget::Server { endpoint, key: secret.map(Secret::new) })
}

/// Checks the URL of a server.
fn parse_endpoint(text: &str) -> Result<String, VectorTargetError> {
    let url = Url::parse(text).map_err(|_reason| VectorTargetError::Endpoint)?;
    let is_plain = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none()
        && url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none();
    if is_plain { Ok(url.into()) } else { Err(VectorTargetError::Endpoint) }
}

/// Checks a key. The client repeats one that is no valid header in its error.
fn parse_key(text: &str) -> Result<String, VectorTargetError> {
    let is_sendable = !text.is_empty() && text.bytes().all(|it| it.is_ascii_graphic());
    if is_sendable { Ok(text.to_owned()) } else { Err(VectorTargetError::Key) }
}
