//! Domain names in the ASCII form of DNS and email.

use std::borrow::Cow;

use idna::AsciiDenyList;
use idna::uts46::{DnsLength, Hyphens, Uts46};

/// Maximum length in bytes: that of a name of 253 ASCII characters in other scripts.
const MAX_BYTES: usize = 253 * 4;

/// Returns the ASCII form of a domain, in lower case (IDNA, UTS 46): equal for
/// `Bücher.example` and `xn--bcher-kva.example`. `None` if it is not a valid
/// host name.
pub fn ascii_domain(domain: &str) -> Option<String> {
    if domain.len() > MAX_BYTES {
        return None;
    }
    let form = Hyphens::Allow;
    let length = DnsLength::Verify;
    let ascii = Uts46::new().to_ascii(domain.as_bytes(), AsciiDenyList::STD3, form, length);
    ascii.ok().map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_domain_has_one_form() {
        for (spelled, ascii) in [
            ("Example.ORG", "example.org"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("BÜCHER.example", "xn--bcher-kva.example"),
            ("bu\u{308}cher.example", "xn--bcher-kva.example"),
            ("XN--BCHER-KVA.example", "xn--bcher-kva.example"),
            ("bücher。example", "xn--bcher-kva.example"),
            ("straße.example", "xn--strae-oqa.example"),
            ("例子.公司", "xn--fsqu00a.xn--55qx5d"),
            ("r3---a.example", "r3---a.example"),
            ("192.0.2.1", "192.0.2.1"),
        ] {
            assert_eq!(ascii_domain(spelled).as_deref(), Some(ascii), "{spelled}");
        }
    }

    #[test]
    fn invalid_host_names_are_rejected() {
        let long_label = format!("{}.example", "ä".repeat(64));

        for domain in
            ["", "a..b", "ex_ample.org", "a b", "xn--a\u{fc}.org", "xn--a.org", &*long_label]
        {
            assert_eq!(ascii_domain(domain), None, "{domain}");
        }
        assert_eq!(ascii_domain(&"ä.".repeat(100_000)), None);
    }
}
