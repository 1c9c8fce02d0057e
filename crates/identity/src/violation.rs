//! Violations in a submitted form.

use pia_kernel::utf16_len;

/// Invalid field of a request, with a code for clients and a message for users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Field of the request, as spelled on the wire.
    pub field: &'static str,
    /// Machine-readable kind: `required`, `invalid`, `too_long` …
    pub code: &'static str,
    /// Sentence in English for the user, naming the field.
    pub message: String,
}

impl Violation {
    pub(crate) fn new(field: &'static str, code: &'static str, message: impl Into<String>) -> Self {
        Self { field, code, message: message.into() }
    }
}

/// Maximum length of a name, in UTF-16 code units.
const MAX_NAME_CHARS: usize = 200;

/// Parses the name of a person or a company: a single line, trimmed; `None` if blank.
///
/// `subject` begins the message of a violation: "The name".
pub(crate) fn parse_name(
    field: &'static str,
    subject: &str,
    input: Option<&str>,
) -> Result<Option<String>, Violation> {
    let Some(name) = input.map(str::trim).filter(|it| !it.is_empty()) else { return Ok(None) };
    if utf16_len(name) > MAX_NAME_CHARS {
        let message = format!("{subject} may have at most {MAX_NAME_CHARS} characters.");
        return Err(Violation::new(field, "too_long", message));
    }
    if name.chars().any(char::is_control) {
        let message = format!("{subject} must be a single line of text.");
        return Err(Violation::new(field, "invalid", message));
    }
    Ok(Some(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(input: &str) -> Result<Option<String>, &'static str> {
        parse_name("displayName", "The name", Some(input)).map_err(|error| error.code)
    }

    #[test]
    fn a_name_is_trimmed_and_a_blank_one_is_none() {
        assert_eq!(parse("  Ada Lovelace "), Ok(Some("Ada Lovelace".to_owned())));
        assert_eq!(parse(" \t "), Ok(None));
        assert_eq!(parse_name("displayName", "The name", None), Ok(None));
    }

    #[test]
    fn a_name_has_bounds_that_count_characters() {
        assert!(parse(&"ß".repeat(200)).is_ok());
        assert_eq!(parse(&"ß".repeat(201)), Err("too_long"));
        // Clients count an emoji as two characters.
        assert!(parse(&"🙂".repeat(100)).is_ok());
        assert_eq!(parse(&format!("{}x", "🙂".repeat(100))), Err("too_long"));
    }

    #[test]
    fn a_name_is_a_single_line() {
        for text in ["Ada\nLovelace", "Ada\u{0}", "Ada\u{1b}[31m"] {
            assert_eq!(parse(text), Err("invalid"), "{text:?}");
        }
    }
}
