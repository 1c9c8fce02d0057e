//! E-mail addresses, as people type them.

use crate::violation::Violation;

/// The longest address that mail servers carry.
pub(crate) const MOST_CHARS: usize = 254;

/// The form in which addresses are compared: two that differ in case alone
/// are the same person's.
pub fn fold_email(email: &str) -> String {
    email.trim().to_lowercase()
}

/// An address that mail could be sent to, trimmed and otherwise as spelled.
///
/// Only a mail that arrives proves an address; what is refused here is what
/// cannot be one, or what would look like another.
pub(crate) fn read(email: &str) -> Result<String, Violation> {
    let email = email.trim();
    let fault = |code, message: &str| Err(Violation::new("email", code, message));
    if email.is_empty() {
        return fault("required", "An e-mail address is required.");
    }
    if email.chars().count() > MOST_CHARS {
        return fault("too_long", "The e-mail address is too long.");
    }
    if !is_plausible(email) {
        return fault("invalid", "This is not an e-mail address.");
    }
    Ok(email.to_owned())
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
    fn an_address_may_have_as_many_characters_as_mail_servers_carry() {
        let of = |length: usize| format!("{}@example.org", "ä".repeat(length - 12));

        assert!(read(&of(254)).is_ok());
        assert_eq!(read(&of(255)).unwrap_err().code, "too_long");
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
