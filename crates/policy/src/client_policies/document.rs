//! Document of a client policy: settings that clients apply.
//!
//! A document has two optional sections, `defaults` and `enforce`, with settings by
//! name. Sections, duplicate names and denied settings are checked; values, and names
//! that the server does not know, are not: the text reaches clients as it was sent.

use std::collections::BTreeSet;

use pia_json::{Members, structural_bytes};
use serde::Serialize;
use serde::de::IgnoredAny;

/// Maximum size of a document in UTF-8 bytes, including surrounding whitespace.
const MAX_BYTES: usize = 64 * 1024;
/// Maximum nesting of objects and arrays.
const MAX_DEPTH: usize = 64;
/// Document that sets nothing.
const EMPTY: &str = "{}";
/// Sections of a document.
const SECTIONS: [&str; 2] = ["defaults", "enforce"];
/// Settings that no policy may set, in lower case: addresses, credentials,
/// cursors and other client-specific state.
const DENIED: [&str; 31] = [
    "serverurl",
    "syncenabled",
    "trustselfsignedcertificates",
    "encryptedaccesstoken",
    "encryptedrefreshtoken",
    "syncuserid",
    "syncuseremail",
    "syncuserdisplayname",
    "syncprovider",
    "syncdeviceid",
    "lastsynctimestamp",
    "lastpulletag",
    "lastchatpulletag",
    "lastpushedsettingshash",
    "lastcatalogversion",
    "managedpersonastoreinitialized",
    "clientpolicyinitialized",
    "assistantchatsbackfilledat",
    "ise2eeenabled",
    "e2eeencryptedumk",
    "e2eedeviceid",
    "e2eeumkversion",
    "e2eerecoveryconfigured",
    "vaultversion",
    "ingestschemaversion",
    "assistantfolderlayoutversion",
    "drafttext",
    "windowwidth",
    "windowheight",
    "windowleft",
    "windowtop",
];
/// Document of a client policy: the text that an administrator sent, trimmed and
/// otherwise unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicyDocument(String);

/// Errors that make a document invalid. The first one found is returned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyDocumentError {
    /// Document is longer than 65,536 bytes.
    #[error("The document must have at most {MAX_BYTES} bytes.")]
    TooLarge,
    /// Document is not valid JSON, or is nested too deeply.
    #[error("The document must be valid JSON.")]
    Malformed,
    /// Document is not a JSON object.
    #[error("The document must be a JSON object.")]
    NotAnObject,
    /// Document has an unknown section.
    #[error("The document has an unknown section; the sections are `defaults` and `enforce`.")]
    UnknownSection,
    /// Section is not an object.
    #[error("The section `{0}` must be an object.")]
    SectionNotAnObject(&'static str),
    /// Section contains a setting that no policy may set.
    #[error("The section `{section}` must not set `{setting}`.")]
    DeniedSetting {
        /// Section of the document: `defaults` or `enforce`.
        section: &'static str,
        /// Setting, in the spelling of the list of denied settings.
        setting: &'static str,
    },
    /// Section, or a setting of a section, occurs twice.
    #[error("The document must not contain a section or setting twice.")]
    Duplicate,
}

impl PolicyDocument {
    /// Parses a document. A blank text sets nothing.
    pub fn parse(text: &str) -> Result<Self, PolicyDocumentError> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Ok(Self::default());
        }
        if text.len() > MAX_BYTES {
            return Err(PolicyDocumentError::TooLarge);
        }
        // Counted before the text is parsed.
        if nesting_depth(trimmed) > MAX_DEPTH
            || serde_json::from_str::<IgnoredAny>(trimmed).is_err()
        {
            return Err(PolicyDocumentError::Malformed);
        }
        if !trimmed.starts_with('{') {
            return Err(PolicyDocumentError::NotAnObject);
        }

        let mut sections = Vec::new();
        for (name, value) in members(trimmed)?.iter() {
            let section = SECTIONS
                .into_iter()
                .find(|it| *it == name)
                .ok_or(PolicyDocumentError::UnknownSection)?;
            if sections.contains(&section) {
                return Err(PolicyDocumentError::Duplicate);
            }
            sections.push(section);
            check_section(section, value)?;
        }

        Ok(Self(trimmed.to_owned()))
    }

    /// Wraps a document loaded from the database.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// Returns the document's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the document's text.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl Default for PolicyDocument {
    fn default() -> Self {
        Self(EMPTY.to_owned())
    }
}

fn check_section(section: &'static str, value: &str) -> Result<(), PolicyDocumentError> {
    if !value.starts_with('{') {
        return Err(PolicyDocumentError::SectionNotAnObject(section));
    }

    let section_members = members(value)?;
    let mut settings = BTreeSet::new();
    for (setting, _) in section_members.iter() {
        let folded = setting.to_ascii_lowercase();
        if let Some(setting) = DENIED.into_iter().find(|it| *it == folded) {
            return Err(PolicyDocumentError::DeniedSetting { section, setting });
        }
        if !settings.insert(setting) {
            return Err(PolicyDocumentError::Duplicate);
        }
    }

    Ok(())
}

/// Returns the nesting depth of objects and arrays, ignoring brackets in strings.
fn nesting_depth(json: &str) -> usize {
    let mut depth = 0_usize;
    let mut deepest = 0;
    for byte in structural_bytes(json.as_bytes()) {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }

    deepest
}

fn members(json: &str) -> Result<Members<'_>, PolicyDocumentError> {
    serde_json::from_str(json).map_err(|_err| PolicyDocumentError::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> PolicyDocumentError {
        PolicyDocument::parse(text).unwrap_err()
    }

    #[test]
    fn a_document_is_stored_trimmed_and_otherwise_unchanged() {
        for (sent, stored) in [
            ("", "{}"),
            (" \n\t", "{}"),
            (" {} ", "{}"),
            ("{ }", "{ }"),
            ("{\"defaults\":{}}", "{\"defaults\":{}}"),
            (
                " {\"enforce\" : {\"theme\":\"\\u0064ark\", \"n\":1.50}} ",
                "{\"enforce\" : {\"theme\":\"\\u0064ark\", \"n\":1.50}}",
            ),
        ] {
            assert_eq!(PolicyDocument::parse(sent).unwrap().as_str(), stored, "{sent:?}");
        }
    }

    #[test]
    fn the_size_is_counted_in_bytes_of_the_untrimmed_text() {
        let document = |bytes: usize| {
            let frame = "{\"defaults\":{\"a\":\"\"}}".len();
            format!("{{\"defaults\":{{\"a\":\"{}\"}}}}", "x".repeat(bytes - frame))
        };

        assert!(PolicyDocument::parse(&document(MAX_BYTES)).is_ok());
        assert_eq!(error(&document(MAX_BYTES + 1)), PolicyDocumentError::TooLarge);
        assert_eq!(error(&format!("{} ", document(MAX_BYTES))), PolicyDocumentError::TooLarge);
        let umlauts = format!("{{\"defaults\":{{\"a\":\"{}\"}}}}", "ä".repeat(MAX_BYTES / 2));
        assert_eq!(error(&umlauts), PolicyDocumentError::TooLarge);
    }

    #[test]
    fn only_strict_json_of_limited_depth_is_accepted() {
        let nested = |depth: usize| {
            let inner = depth - 2;
            format!("{{\"enforce\":{{\"a\":{}{}}}}}", "[".repeat(inner), "]".repeat(inner))
        };

        assert!(PolicyDocument::parse(&nested(64)).is_ok());
        for text in [
            nested(65).as_str(),
            "{",
            "{\"defaults\":{},}",
            "{/* */}",
            "{\"defaults\":{}} {}",
            "{'defaults':{}}",
            "\u{feff}{}",
        ] {
            assert_eq!(error(text), PolicyDocumentError::Malformed, "{text}");
        }
        for text in ["null", "[]", "1", "\"{}\"", "true"] {
            assert_eq!(error(text), PolicyDocumentError::NotAnObject, "{text}");
        }
    }

    #[test]
    fn members_are_checked_in_the_order_of_the_document() {
        use PolicyDocumentError::{DeniedSetting, SectionNotAnObject, UnknownSection};
        let denied = |section, setting| DeniedSetting { section, setting };

        for (text, expected) in [
            (r#"{"Defaults":{}}"#, UnknownSection),
            (r#"{"other":1,"enforce":null}"#, UnknownSection),
            (r#"{"enforce":null,"other":1}"#, SectionNotAnObject("enforce")),
            (r#"{"defaults":[]}"#, SectionNotAnObject("defaults")),
            (
                r#"{"enforce":{"a":1,"ServerURL":"x","windowTop":1},"other":{}}"#,
                denied("enforce", "serverurl"),
            ),
            (r#"{"defaults":{"\u0073erverUrl":1}}"#, denied("defaults", "serverurl")),
        ] {
            assert_eq!(error(text), expected, "{text}");
        }
        assert!(PolicyDocument::parse(r#"{"defaults":{"a":{"serverUrl":1}}}"#).is_ok());
        for setting in DENIED {
            let text = format!("{{\"defaults\":{{\"{setting}\":null}}}}");
            assert_eq!(error(&text), denied("defaults", setting));
        }
    }

    #[test]
    fn duplicate_sections_and_settings_are_refused() {
        for text in [r#"{"defaults":{},"defaults":{}}"#, r#"{"enforce":{"theme":1,"theme":2}}"#] {
            assert_eq!(error(text), PolicyDocumentError::Duplicate, "{text}");
        }
        assert!(PolicyDocument::parse(r#"{"enforce":{"theme":1,"Theme":2}}"#).is_ok());
    }
}
