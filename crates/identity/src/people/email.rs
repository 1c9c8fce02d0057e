//! Email addresses: parsing, comparison and display.
//!
//! `parse` is for the address of a new account, `for_lookup` for that of an
//! existing one. `fold_email` returns the form that is compared,
//! `readable_email` the form that is displayed. Domains have two spellings,
//! Unicode and `xn--`; both lead to one account.

use idna::AsciiDenyList;
use idna::uts46::{Hyphens, Uts46};
use pia_kernel::{ascii_domain, utf16_len};
use unicode_normalization::is_nfkc;

use crate::violation::Violation;

/// Maximum length of an address in UTF-16 code units, as mail servers accept it.
pub(crate) const MAX_EMAIL_CHARS: usize = 254;
/// Maximum length of the part before the `@`.
const MAX_LOCAL_PART_BYTES: usize = 64;

/// Returns the form in which addresses are compared. It ignores case and the spelling of
/// internationalised domains.
pub fn fold_email(email: &str) -> String {
    let email = email.trim();
    let Some((local, domain)) = email.rsplit_once('@') else { return email.to_lowercase() };
    format!("{}@{}", local.to_lowercase(), fold_domain(domain))
}

/// Returns the forms under which an address may be stored: that of [`fold_email`], and that of
/// earlier versions, which left domains as typed. They are mostly equal.
pub fn stored_forms(email: &str) -> [String; 2] {
    [fold_email(email), email.trim().to_lowercase()]
}

/// Returns an address in display form: as spelled, but with the domain in its own script.
pub fn readable_email(email: &str) -> String {
    let email = email.trim();
    in_own_script(email).unwrap_or_else(|| email.to_owned())
}

/// Returns an address with its domain in its own script; `None` if the domain is ASCII or invalid.
fn in_own_script(email: &str) -> Option<String> {
    let (local, domain) = email.rsplit_once('@')?;
    let ascii = ascii_domain(domain).filter(|it| it.contains("xn--"))?;
    let (domain_in_unicode, outcome) =
        Uts46::new().to_unicode(ascii.as_bytes(), AsciiDenyList::STD3, Hyphens::Allow);
    outcome.ok()?;
    Some(format!("{local}@{domain_in_unicode}"))
}

/// Returns the form in which domains are compared.
pub(crate) fn fold_domain(domain: &str) -> String {
    ascii_domain(domain).unwrap_or_else(|| domain.to_lowercase())
}

/// Parses the address of a new account. Returns its display form.
///
/// Only a received email proves an address; this rejects addresses that are impossible or that
/// resemble another.
pub(crate) fn parse(email: &str) -> Result<String, Violation> {
    let email = email.trim();
    let violation = |code, message: &str| Err(Violation::new("email", code, message));
    if email.is_empty() {
        return violation("required", "An email address is required.");
    }
    if utf16_len(email) > MAX_EMAIL_CHARS {
        return violation("too_long", "The email address is too long.");
    }

    let readable = readable_email(email);
    if !is_plausible(email) || !is_in_order(email) || !is_in_order(&readable) {
        return violation("invalid", "This is not a valid email address.");
    }
    // Mail servers use the ASCII form, which may be longer.
    if utf16_len(&fold_email(email)) > MAX_EMAIL_CHARS {
        return violation("too_long", "The email address is too long.");
    }

    Ok(readable)
}

/// Returns the trimmed address for looking an account up; `None` if it is impossible. The rules are
/// laxer than for new accounts, as older ones may not meet those.
pub(crate) fn for_lookup(email: &str) -> Option<&str> {
    let email = email.trim();
    (utf16_len(email) <= MAX_EMAIL_CHARS && is_plausible(email)).then_some(email)
}

/// Returns the part after the `@`, in the form in which domains are compared.
pub(crate) fn domain(email: &str) -> String {
    email.rsplit_once('@').map(|(_, domain)| fold_domain(domain)).unwrap_or_default()
}

fn is_plausible(email: &str) -> bool {
    let Some((local, domain)) = email.split_once('@') else { return false };
    let labels = || domain.split('.');
    !local.is_empty()
        && !email.chars().any(is_out_of_place)
        && !domain.contains('@')
        && labels().all(|label| !label.is_empty())
        && (labels().count() > 1 || domain.eq_ignore_ascii_case("localhost"))
}

/// Returns whether a character is invisible, or occurs in addresses only in quotes, if at all.
fn is_out_of_place(char: char) -> bool {
    char.is_whitespace()
        || char.is_control()
        || "<>()[],;:\\\"".contains(char)
        || matches!(char, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Returns whether mail servers accept the address, and it does not resemble another.
fn is_in_order(email: &str) -> bool {
    let Some((local, domain)) = email.split_once('@') else { return false };
    local.len() <= MAX_LOCAL_PART_BYTES
        && local.split('.').all(|it| !it.is_empty())
        && domain.split('.').all(is_label)
        && ascii_domain(domain).is_some()
        && is_nfkc(email)
        && !email.chars().any(is_invisible)
}

fn is_label(label: &str) -> bool {
    let fits = |it: char| !it.is_ascii() || it.is_ascii_alphanumeric() || it == '-';
    !label.is_empty() && !label.starts_with('-') && !label.ends_with('-') && label.chars().all(fits)
}

/// Returns whether a character is not displayed, or displayed differently by
/// every font.
fn is_invisible(char: char) -> bool {
    matches!(
        char,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{e000}'..='\u{f8ff}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_addresses_are_accepted_as_spelled() {
        for email in [
            "ada@example.org",
            "Ada.Lovelace+pia@Sub.Example.org",
            "o'neil@example.org",
            "root@localhost",
            "jürgen@bücher.example",
            "用户@例子.公司",
            "jürgen@müller.de",
            "first_last.a.b+c-d=e!f@example.рф",
            "a@b-c.d1.org",
            "ada@192.0.2.1",
        ] {
            assert_eq!(parse(&format!(" {email}\n")).as_deref(), Ok(email));
        }
    }

    #[test]
    fn a_domain_is_returned_in_its_own_script() {
        for email in ["Karl@bücher.example", "Karl@xn--bcher-kva.example", "Karl@BÜCHER.Example"]
        {
            assert_eq!(parse(email).as_deref(), Ok("Karl@bücher.example"));
        }
        assert_eq!(parse("Karl@Example.ORG").as_deref(), Ok("Karl@Example.ORG"));
    }

    #[test]
    fn spellings_of_a_domain_fold_to_one_address() {
        for email in ["karl@bücher.example", "KARL@XN--Bcher-KVA.example", " Karl@BÜCHER.example"]
        {
            assert_eq!(fold_email(email), "karl@xn--bcher-kva.example");
            assert_eq!(domain(email), "xn--bcher-kva.example");
        }
        assert_eq!(
            stored_forms("Karl@Bücher.example"),
            ["karl@xn--bcher-kva.example", "karl@bücher.example"]
        );
    }

    #[test]
    fn domains_without_an_ascii_form_are_folded_by_case_only() {
        for (email, folded) in [
            ("Ada@Ex_ample.org", "ada@ex_ample.org"),
            ("Ada@xn--a.ORG", "ada@xn--a.org"),
            ("Ada", "ada"),
            ("Ada@", "ada@"),
        ] {
            assert_eq!(fold_email(email), folded);
            assert_eq!(readable_email(email), email);
        }
    }

    #[test]
    fn malformed_addresses_are_refused() {
        for (email, code) in [
            ("", "required"),
            ("  ", "required"),
            ("ada", "invalid"),
            ("@example.org", "invalid"),
            ("ada@", "invalid"),
            ("ada@example", "invalid"),
            ("ada@example..org", "invalid"),
            ("ada@.org", "invalid"),
            ("ada@example.", "invalid"),
            ("ada@xn--a.org", "invalid"),
            ("ada@one.org@two.org", "invalid"),
            ("ada lovelace@example.org", "invalid"),
            ("ada@example.org\r\nBcc: all@example.org", "invalid"),
            ("ada\u{0}@example.org", "invalid"),
            ("ada\u{200b}@example.org", "invalid"),
            ("<ada@example.org>", "invalid"),
        ] {
            assert_eq!(parse(email).unwrap_err().code, code, "{email:?}");
        }
    }

    #[test]
    fn undeliverable_and_lookalike_addresses_are_refused() {
        for email in [
            "a..b@x.org",
            ".a@x.org",
            "a.@x.org",
            ".@x.org",
            "ada@-example.org",
            "ada@example-.org",
            "ada@example.-org",
            "ada@example.org/x",
            "ada@ex#ample.org",
            "ada@ex_ample.org",
            "ju\u{308}rgen@example.org",
            "ada@mu\u{308}ller.de",
            "\u{ff41}da@example.org",
            "ada@example.org\u{ff0e}uk",
            "\u{212a}ai@example.org",
            "a\u{17f}a@example.org",
        ] {
            assert_eq!(parse(email).map_err(|it| it.code), Err("invalid"), "{email:?}");
            assert_eq!(for_lookup(&format!(" {email}")), Some(email), "older accounts may have it");
        }
    }

    #[test]
    fn addresses_with_invisible_characters_are_refused() {
        let hidden_chars = "\u{ad}\u{34f}\u{61c}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{180b}\u{180f}\
                      \u{200b}\u{200f}\u{202a}\u{202e}\u{2060}\u{206f}\u{3164}\u{e000}\u{f8ff}\
                      \u{fe00}\u{fe0f}\u{feff}\u{ffa0}\u{fff0}\u{fffb}\u{1bca0}\u{1d173}\
                      \u{e0000}\u{e0fff}";
        assert_eq!(hidden_chars.chars().count(), 28);

        for char in hidden_chars.chars() {
            for email in [format!("a{char}b@example.org"), format!("ada@ex{char}ample.org")] {
                assert_eq!(parse(&email).map_err(|it| it.code), Err("invalid"), "{email:?}");
            }
        }
    }

    #[test]
    fn impossible_addresses_are_not_looked_up() {
        let long_address = format!("ada@{}.org", "x".repeat(254));

        for email in
            ["", "ada", "ada@example", "ada\0@example.org", "a b@example.org", &*long_address]
        {
            assert_eq!(for_lookup(email), None, "{email:?}");
        }
    }

    #[test]
    fn the_length_of_an_address_is_limited() {
        let label = |length| "x".repeat(length);
        let of = |last| format!("ada@{0}.{0}.{0}.{1}.org", label(63), label(last));
        let foreign = format!("ada@{}", vec!["ü".repeat(40); 5].join("."));

        assert_eq!(of(54).len(), 254);
        assert!(parse(&of(54)).is_ok());
        assert_eq!(parse(&of(55)).unwrap_err().code, "too_long");
        assert!(utf16_len(&foreign) < 254 && fold_email(&foreign).len() < 254);
        assert!(parse(&foreign).is_ok());
    }

    #[test]
    fn the_local_part_may_have_64_bytes() {
        for (local, good) in [
            ("a".repeat(64), true),
            ("ä".repeat(32), true),
            ("a".repeat(65), false),
            ("ä".repeat(33), false),
        ] {
            assert_eq!(parse(&format!("{local}@example.org")).is_ok(), good, "{local}");
        }
    }

    #[test]
    fn addresses_that_differ_in_case_fold_to_one() {
        assert_eq!(fold_email(" Ada@Example.ORG"), fold_email("ada@example.org"));
        assert_eq!(fold_email("JÜRGEN@example.org"), "jürgen@example.org");
    }

    #[test]
    fn the_domain_is_what_follows_the_at() {
        assert_eq!(domain("Ada@Example.ORG"), "example.org");
    }
}
