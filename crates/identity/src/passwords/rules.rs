//! Rules for passwords: long and hard to guess. No composition is required.
//!
//! `weakness` is called by registration, changes and resets. It checks the
//! length, then words about the owner, then the number of guesses that zxcvbn
//! estimates. A password that is too long to be scored passes, unless it
//! repeats a short text.

use std::collections::HashSet;
use std::fmt;

use pia_kernel::utf16_len;

use crate::violation::Violation;

/// Maximum length of a password, in [`utf16_len`]. It bounds the input of hashing.
pub const MAX_PASSWORD_CHARS: usize = 128;

/// Maximum length of a password, in bytes. Passwords of older versions may have more characters.
pub(crate) const MAX_PASSWORD_BYTES: usize = MAX_PASSWORD_CHARS * 4;

/// Minimum strength, in guesses. It is the length of the estimator's lists: a weaker password is
/// on a list, perhaps with a character added. No more is required, since attempts are throttled.
const MIN_GUESSES: u64 = 50_000;

/// Maximum number of scored characters: the estimate's time grows with the square of the length,
/// and no longer password is on any list.
const MAX_SCORED_CHARS: usize = 40;

/// Maximum number of scored characters if many signs could stand for letters (`$` for `s`): each
/// reading is tried.
const MAX_SCORED_SYMBOLS: usize = 16;

/// Number of different signs above which they are many.
const MANY_SIGNS: usize = 3;

/// Reasons to reject a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weakness {
    Missing,
    TooShort { min_chars: usize },
    TooLong,
    Common,
    Personal,
}

/// Returns the first weakness of a password. As for hashing, the password is neither trimmed, cut
/// nor folded.
///
/// `about` is public knowledge about the owner: the address and the name.
pub(crate) fn weakness(password: &str, min_chars: usize, about: &[&str]) -> Option<Weakness> {
    let length = utf16_len(password);
    if length == 0 {
        return Some(Weakness::Missing);
    }
    if length < min_chars {
        return Some(Weakness::TooShort { min_chars });
    }
    if length > MAX_PASSWORD_CHARS {
        return Some(Weakness::TooLong);
    }

    let personal_words = known_words(about);
    if is_personal(password, &personal_words) {
        return Some(Weakness::Personal);
    }

    is_common(password, &personal_words).then_some(Weakness::Common)
}

impl Weakness {
    pub(crate) fn violation(self, field: &'static str) -> Violation {
        let code = match self {
            Self::Missing => "required",
            Self::TooShort { .. } => "too_short",
            Self::TooLong => "too_long",
            Self::Common => "common",
            Self::Personal => "personal",
        };
        Violation::new(field, code, self.to_string())
    }
}

impl fmt::Display for Weakness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("A password is required."),
            Self::TooShort { min_chars } => {
                write!(f, "The password must have at least {min_chars} characters.")
            }
            Self::TooLong => {
                write!(f, "The password may have at most {MAX_PASSWORD_CHARS} characters.")
            }
            Self::Common => f.write_str(
                "This password is easy to guess. Choose a longer or less common one, for \
                 example several words.",
            ),
            Self::Personal => {
                f.write_str("The password must not be your name, your email address or “Pia”.")
            }
        }
    }
}

/// Returns the words of `about`, the server's name, and the local part of an address.
fn known_words(about: &[&str]) -> Vec<String> {
    let mut words = vec!["pia".to_owned(), "pia-server".to_owned()];
    for text in about {
        let folded = text.trim().to_lowercase();
        words.extend(folded.split_once('@').map(|(local, _)| local.to_owned()));
        words.push(folded);
    }
    words.retain(|it| !it.is_empty());
    words
}

/// Returns whether a password consists of a known word and digits.
fn is_personal(password: &str, known: &[String]) -> bool {
    let folded = password.trim().to_lowercase();
    known.iter().any(|word| {
        let suffix = folded.strip_prefix(word.as_str());
        suffix.is_some_and(|it| it.chars().all(|char| char.is_ascii_digit()))
    })
}

/// Returns whether a password is guessed early from lists of passwords, words and keyboard
/// patterns.
fn is_common(password: &str, known: &[String]) -> bool {
    let chars: Vec<char> = password.chars().collect();
    let scored_chars = if chars.len() > MAX_SCORED_CHARS { repeated(&chars) } else { &chars };
    let signs: HashSet<&char> =
        scored_chars.iter().filter(|it| it.is_ascii_punctuation()).collect();
    let max_chars = if signs.len() > MANY_SIGNS { MAX_SCORED_SYMBOLS } else { MAX_SCORED_CHARS };
    if scored_chars.len() > max_chars {
        return false;
    }

    let scored_text: String = scored_chars.iter().collect();
    let known_inputs: Vec<&str> = known.iter().map(String::as_str).collect();
    zxcvbn::zxcvbn(&scored_text, &known_inputs).guesses() < MIN_GUESSES
}

/// Returns the shortest prefix whose repetition is the text, the last one perhaps truncated.
fn repeated(text: &[char]) -> &[char] {
    // A text repeats its prefix if it equals itself without that prefix.
    let repeats_prefix =
        |length: &usize| text.iter().zip(text.iter().skip(*length)).all(|(a, b)| a == b);
    let shortest_length = (1..=text.len() / 2).find(repeats_prefix);
    shortest_length.and_then(|length| text.get(..length)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABOUT: &[&str] = &["Ada.Lovelace@example.org", "Ada Lovelace"];

    fn find(password: &str) -> Option<Weakness> {
        weakness(password, 8, ABOUT)
    }

    #[test]
    fn ordinary_strong_passwords_are_accepted() {
        for password in [
            "correct horse battery staple",
            "Str0ng-enough!42",
            "a perfectly fine passphrase",
            "Tr0ub4dor&3",
            "k3Jx9_qZ",
            "test-password",
            "sesam öffne dich jetzt",
            "密码是一个很长的句子吗",
            "    leading and trailing    ",
            "!Q-(z[>/|%$+8{@]<)=",
            &"seven words that nobody says in this order, ".repeat(2),
        ] {
            assert_eq!(find(password), None, "{password}");
        }
    }

    #[test]
    fn common_passwords_are_refused() {
        for password in [
            "password",
            "Password1!",
            "P@ssw0rd",
            "12345678",
            "1234567890",
            "qwertyuiop",
            "iloveyou",
            "letmein123",
            "drowssap",
            "aaaaaaaa",
            "abcdefgh",
            "!@#$%^&*",
            "understanding",
            "summer2025",
            &"a".repeat(128),
            &"password".repeat(16),
            "12345678901234567890123456789012345678901234567",
        ] {
            assert_eq!(find(password), Some(Weakness::Common), "{password}");
        }
    }

    #[test]
    fn names_of_the_owner_and_of_the_server_are_refused() {
        for password in [
            "ada.lovelace@example.org",
            "ADA.LOVELACE@EXAMPLE.ORG",
            "Ada.Lovelace",
            "ada.lovelace2024",
            "Ada Lovelace",
            "pia12345",
            "Pia-Server",
            " pia-server1 ",
        ] {
            assert_eq!(find(password), Some(Weakness::Personal), "{password}");
        }
    }

    #[test]
    fn a_password_may_contain_a_known_word() {
        assert_eq!(find("Ada writes programs at night"), None);
    }

    #[test]
    fn length_is_counted_in_characters() {
        assert_eq!(find(""), Some(Weakness::Missing));
        assert_eq!(find("k3Jx9_q"), Some(Weakness::TooShort { min_chars: 8 }));
        assert_eq!(find("äöüßéèêë"), None);
        let long_password: String = ('!'..='~').chain('Ā'..='ń').take(129).collect();
        assert_eq!(find(&long_password), Some(Weakness::TooLong));
        assert_eq!(find(long_password.strip_suffix(|_| true).unwrap()), None);
        // Clients count characters beyond the first plane as two.
        assert_eq!(find("🦊🌵🚂"), Some(Weakness::TooShort { min_chars: 8 }));
        // Long enough, but few distinct characters.
        assert_eq!(find("🦊🌵🚂🧀"), Some(Weakness::Common));
        assert_eq!(find("🦊🌵🚂🧀🎻🥨"), None);
        let faces: Vec<char> = ('😀'..='🙏').collect();
        let longest: String = (0..64).map(|it| faces[it * 37 % faces.len()]).collect();
        assert_eq!(find(&longest), None);
        assert_eq!(find(&format!("{longest}x")), Some(Weakness::TooLong));
    }

    #[test]
    fn the_minimum_length_is_configurable() {
        assert_eq!(weakness("k3Jx9_qZ", 12, ABOUT), Some(Weakness::TooShort { min_chars: 12 }));
    }

    #[test]
    fn the_shortest_repeated_prefix_is_found() {
        let of = |text: &str| -> String {
            repeated(&text.chars().collect::<Vec<char>>()).iter().collect()
        };

        assert_eq!(["aaaa", "abcabca", "abcabd", ""].map(of), ["a", "abc", "abcabd", ""]);
    }
}
