//! `Encryption`: key from which all data keys are derived.

use pia_kernel::Secret;

use super::error::Reason;
use super::known_secrets;
use super::section::Section;
use super::setting::Setting;

const BYTES: usize = 32;

/// Source of the data keys.
#[derive(Debug, Clone)]
pub struct Encryption {
    /// Key in use.
    pub master_key: Secret<[u8; BYTES]>,
    /// Previous key, as long as data encrypted with it remains.
    pub previous_master_key: Option<Secret<[u8; BYTES]>>,
    /// True if a key that does not match the stored data is accepted, and data
    /// encrypted with the old one is lost.
    pub accept_new_master_key: bool,
}

impl Encryption {
    pub(super) fn from_section(from: &mut Section<'_>) -> Option<Self> {
        let key = from.restart("MasterKey").required::<MasterKey>(
            "set ENCRYPTION_MASTER_KEY to 64 random hexadecimal characters, and keep a copy",
        );
        let previous = from.restart("PreviousMasterKey").optional::<MasterKey>();
        let accept = from.restart("AcceptNewMasterKey").or(false);
        if accept {
            from.warn("AcceptNewMasterKey", "data under another key is given up while this is set");
        }

        Some(Self {
            master_key: Secret::new(key?.0),
            previous_master_key: previous.map(|it| Secret::new(it.0)),
            accept_new_master_key: accept,
        })
    }

    /// Returns whether a text is the master key.
    pub(super) fn has_key(&self, text: &str) -> bool {
        let hex = Secret::new(MasterKey(*self.master_key.expose()).format());
        hex.ct_eq(&text.trim().to_ascii_lowercase())
    }
}

struct MasterKey([u8; BYTES]);

impl Setting for MasterKey {
    const IS_SECRET: bool = true;

    fn parse(text: &str) -> Result<Self, Reason> {
        let text = text.trim();
        let Some(key) = parse_hex(text) else {
            return Err(Reason::form("expected 64 hexadecimal characters"));
        };
        if known_secrets::repeats(&key) || known_secrets::repeats(text.as_bytes()) {
            return Err(Reason::weak("is easily guessed; expected random characters"));
        }
        Ok(Self(key))
    }

    fn format(&self) -> String {
        let digits = self.0.iter().flat_map(|it| [it >> 4, it & 0xf]);
        digits.filter_map(|it| char::from_digit(it.into(), 16)).collect()
    }
}

/// Parses a key of two digits a byte; `None` if the text has another length or form.
fn parse_hex(text: &str) -> Option<[u8; BYTES]> {
    let digits: Vec<u8> =
        text.chars().map(|it| u8::try_from(it.to_digit(16)?).ok()).collect::<Option<Vec<u8>>>()?;
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    let bytes: Vec<u8> = pairs.iter().map(|[high, low]| (high << 4) | low).collect();
    bytes.try_into().ok()
}
