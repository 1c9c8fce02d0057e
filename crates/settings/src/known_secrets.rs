//! Weak secrets: publicly known or easy to guess.
//!
//! A heuristic for secrets copied from documentation, not a measure of entropy:
//! random secrets of 32 characters must never be refused.

/// Parts of secrets that stand in examples, reduced to lower-case letters and
/// digits.
const PLACEHOLDERS: &[&str] = &[
    "0123456789abcdef",
    "1234567890123",
    "abcdefghijklm",
    "atleast32char",
    "changeit",
    "changeme",
    "changethis",
    "correcthorse",
    "deadbeef",
    "defaultsecret",
    "developmentkey",
    "developmentsecret",
    "devsecret",
    "donotuse",
    "examplekey",
    "examplesecret",
    "insertyour",
    "jwtsecret",
    "letmein",
    "mysecret",
    "mysupersecret",
    "notsecret",
    "passwordpassword",
    "placeholder",
    "putyour",
    "qwertyuiop",
    "replaceme",
    "replacethis",
    "replacewith",
    "samplekey",
    "samplesecret",
    "secretkeyhere",
    "secretsecret",
    "supersecret",
    "testsecret",
    "thisisa",
    "thisismy",
    "usearandom",
    "verysecret",
    "yourjwt",
    "yourkey",
    "yoursecret",
    "yoursigning",
    "yoursuper",
];

/// Minimum number of distinct characters; any random secret of 32 characters
/// has more.
const MIN_DISTINCT_CHARS: usize = 8;

/// Returns whether a text is publicly known or easy to guess.
pub(super) fn is_known(text: &str) -> bool {
    let plain: String =
        text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let mut distinct: Vec<char> = text.chars().collect();
    distinct.sort_unstable();
    distinct.dedup();
    distinct.len() < MIN_DISTINCT_CHARS
        || repeats(text.as_bytes())
        || PLACEHOLDERS.iter().any(|it| plain.contains(it))
}

/// Returns whether the bytes repeat a short sequence, or count up or down.
pub(super) fn repeats(bytes: &[u8]) -> bool {
    let has_period =
        |length: usize| bytes.iter().zip(bytes.iter().skip(length)).all(|(a, b)| a == b);
    let counts_by =
        |step: u8| bytes.iter().zip(bytes.iter().skip(1)).all(|(a, b)| a.wrapping_add(step) == *b);
    (1..=bytes.len() / 2).any(has_period) || counts_by(1) || counts_by(u8::MAX) || counts_by(0x11)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_from_examples_are_known() {
        for text in [
            "your-secret-key-at-least-32-characters-long",
            "CHANGE_ME_CHANGE_ME_CHANGE_ME_CHANGE_ME",
            "ThisIsASecretKeyForDevelopmentOnly!!",
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "abcabcdeabcabcdeabcabcdeabcabcde",
            "0123456789abcdef0123456789abcdef",
            "k7Yp2vWqk7Yp2vWqk7Yp2vWqk7Yp2vWq",
        ] {
            assert!(is_known(text), "{text}");
        }
    }

    #[test]
    fn random_secrets_are_not_known() {
        for text in [
            "vR4mZk1uXq9TtB7cY0eHs6wLpD3fGjNa",
            "3f8a1c5e9b7d2046e1f7a3c95b8d6e02",
            "wasser lampe treppe birke ufer sechs",
        ] {
            assert!(!is_known(text), "{text}");
        }
    }
}
