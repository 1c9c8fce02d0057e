//! Detection of addresses that a reader would fetch.
//!
//! Readers of URLs are lenient, so the check is, too: whitespace and control characters
//! before an address, backslashes and a missing scheme hide none. `fetched.rs` calls it.

/// Schemes for which many readers accept any number of slashes before the host.
const SPECIAL: [&str; 6] = ["http", "https", "ws", "wss", "ftp", "file"];

/// Returns whether a text begins as an address. Two slashes alone are not one, as audio in Base64
/// may begin with them.
pub(crate) fn is_address(text: &str) -> bool {
    let address = text.trim_start_matches(|it: char| it.is_whitespace() || it.is_control());
    if let Some(after_slash) = address.strip_prefix(['/', '\\']) {
        let Some(after_slashes) = after_slash.strip_prefix(['/', '\\']) else { return false };
        let host = after_slashes.split(['/', '\\']).next().unwrap_or_default();
        // Base64 has no dot, colon or backslash.
        let is_host = host.contains(['.', ':']) || host.eq_ignore_ascii_case("localhost");
        return is_host || address.get(..2).is_some_and(|it| it.contains('\\'));
    }

    // Some readers remove line breaks and tabs anywhere.
    let beginning: String = address.chars().filter(|it| !it.is_control()).take(64).collect();
    let Some((scheme, rest)) = beginning.split_once(':') else { return false };

    let is_scheme = scheme.starts_with(|it: char| it.is_ascii_alphabetic())
        && scheme.chars().all(|it| it.is_ascii_alphanumeric() || matches!(it, '+' | '-' | '.'));
    let is_special = SPECIAL.iter().any(|it| it.eq_ignore_ascii_case(scheme));

    is_scheme && (is_special || rest.starts_with(['/', '\\']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_distinguished_from_text_by_its_beginning() {
        for address in [
            "http://h",
            "HTTPS:h",
            " \u{a0}http://h",
            "ht\ntp://h",
            "//h.example/x",
            "//10.0.0.1",
            "//[::1]/x",
            "//LocalHost/x",
            r"/\h/x",
            r"\\h\x",
            "gs://bucket/x",
            "file:///etc/passwd",
            "made-up+1.0:/x",
        ] {
            assert!(is_address(address), "{address}");
        }
        for text in [
            "",
            "file-7",
            "note: see http://h",
            "a/b",
            "/x",
            "7:/x",
            "AAAA+/==",
            "//uQxAAAAAAA/AA==",
            "////AP//",
            "see //h",
            "a:b",
        ] {
            assert!(!is_address(text), "{text}");
        }
    }
}
