//! E-mail addresses, as people type them.

use pia_kernel::characters;
use unicode_normalization::is_nfkc;

use crate::violation::Violation;

/// The longest address that mail servers carry.
pub(crate) const MOST_CHARS: usize = 254;
/// The most that may stand before the `@`.
const MOST_LOCAL_BYTES: usize = 64;

/// The form in which addresses are compared: two that differ in case alone
/// are the same person's.
pub fn fold_email(email: &str) -> String {
    email.trim().to_lowercase()
}

/// An address for a new account, trimmed and otherwise as spelled.
///
/// Only a mail that arrives proves an address; what is refused here is what
/// cannot be one, or what would look like another.
pub(crate) fn read(email: &str) -> Result<String, Violation> {
    let email = email.trim();
    let fault = |code, message: &str| Err(Violation::new("email", code, message));
    if email.is_empty() {
        return fault("required", "An e-mail address is required.");
    }
    if characters(email) > MOST_CHARS {
        return fault("too_long", "The e-mail address is too long.");
    }
    if !is_plausible(email) || !is_in_order(email) {
        return fault("invalid", "This is not an e-mail address.");
    }
    Ok(email.to_owned())
}

/// An address, trimmed, by which an account may be looked for. Less is asked
/// of it than of a new one: older accounts keep theirs.
pub(crate) fn sought(email: &str) -> Option<&str> {
    let email = email.trim();
    (characters(email) <= MOST_CHARS && is_plausible(email)).then_some(email)
}

/// What comes after the `@`, in the form in which domains are compared.
pub(crate) fn domain(email: &str) -> String {
    email.rsplit_once('@').map(|(_, domain)| domain.to_lowercase()).unwrap_or_default()
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

/// What addresses hold in quotes only, if at all, and what nobody sees.
fn is_out_of_place(char: char) -> bool {
    char.is_whitespace()
        || char.is_control()
        || "<>()[],;:\\\"".contains(char)
        || matches!(char, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Whether mail servers take it, and it is not another one in disguise.
fn is_in_order(email: &str) -> bool {
    let Some((local, domain)) = email.split_once('@') else { return false };
    local.len() <= MOST_LOCAL_BYTES
        && local.split('.').all(|it| !it.is_empty())
        && domain.split('.').all(is_label)
        && is_nfkc(email)
        && !email.chars().any(is_invisible)
}

fn is_label(label: &str) -> bool {
    let fits = |it: char| !it.is_ascii() || it.is_ascii_alphanumeric() || it == '-';
    !label.is_empty() && !label.starts_with('-') && !label.ends_with('-') && label.chars().all(fits)
}

/// What is not shown, and what every font shows as it likes.
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
    fn ordinary_addresses_are_taken_as_spelled() {
        for email in [
            "ada@example.org",
            "Ada.Lovelace+pia@Sub.Example.org",
            "o'neil@example.org",
            "root@localhost",
            "jürgen@bücher.example",
            "用户@例子.公司",
            "jürgen@müller.de",
            "first_last.a.b+c-d=e!f@example.xn--p1ai",
            "a@b-c.d1.org",
            "ada@192.0.2.1",
        ] {
            assert_eq!(read(&format!(" {email}\n")).as_deref(), Ok(email));
        }
    }

    #[test]
    fn what_cannot_be_an_address_is_refused() {
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
            ("ada@one.org@two.org", "invalid"),
            ("ada lovelace@example.org", "invalid"),
            ("ada@example.org\r\nBcc: all@example.org", "invalid"),
            ("ada\u{0}@example.org", "invalid"),
            ("ada\u{200b}@example.org", "invalid"),
            ("<ada@example.org>", "invalid"),
        ] {
            assert_eq!(read(email).unwrap_err().code, code, "{email:?}");
        }
    }

    #[test]
    fn no_new_account_has_an_address_that_mail_servers_refuse_or_that_looks_like_another() {
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
            assert_eq!(read(email).map_err(|it| it.code), Err("invalid"), "{email:?}");
            assert_eq!(sought(&format!(" {email}")), Some(email), "older accounts may have it");
        }
    }

    #[test]
    fn no_new_account_has_an_address_with_something_invisible() {
        let hidden = "\u{ad}\u{34f}\u{61c}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{180b}\u{180f}\
                      \u{200b}\u{200f}\u{202a}\u{202e}\u{2060}\u{206f}\u{3164}\u{e000}\u{f8ff}\
                      \u{fe00}\u{fe0f}\u{feff}\u{ffa0}\u{fff0}\u{fffb}\u{1bca0}\u{1d173}\
                      \u{e0000}\u{e0fff}";
        assert_eq!(hidden.chars().count(), 28);

        for char in hidden.chars() {
            for email in [format!("a{char}b@example.org"), format!("ada@ex{char}ample.org")] {
                assert_eq!(read(&email).map_err(|it| it.code), Err("invalid"), "{email:?}");
            }
        }
    }

    #[test]
    fn what_can_be_no_address_of_any_account_is_not_looked_for() {
        let long = format!("ada@{}.org", "x".repeat(254));

        for email in ["", "ada", "ada@example", "ada\0@example.org", "a b@example.org", &*long] {
            assert_eq!(sought(email), None, "{email:?}");
        }
    }

    #[test]
    fn an_address_may_have_as_many_characters_as_mail_servers_carry() {
        let of = |length: usize| format!("ada@{}.org", "ä".repeat(length - 8));

        assert!(read(&of(254)).is_ok());
        assert_eq!(read(&of(255)).unwrap_err().code, "too_long");
    }

    #[test]
    fn before_the_at_may_stand_64_bytes() {
        for (local, good) in [
            ("a".repeat(64), true),
            ("ä".repeat(32), true),
            ("a".repeat(65), false),
            ("ä".repeat(33), false),
        ] {
            assert_eq!(read(&format!("{local}@example.org")).is_ok(), good, "{local}");
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
