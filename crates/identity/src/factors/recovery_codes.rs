//! Recovery codes, which replace a lost authenticator.
//!
//! `second_factors.rs` issues ten, presents them once and stores their
//! hashes. `FactorProofs::answer` hashes a typed code, and the store that
//! consumes the proof decides if that code is unused.

use pia_kernel::{QueuedEmail, Secret, SideEffects, Timestamp, Unavailable, UserId, random_bytes};
use ring::hmac;

use crate::ports::RecoveryHash;

/// Number of codes per user.
pub(crate) const COUNT: usize = 10;
/// Crockford's base 32, without letters that look like digits.
const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Length in characters: 125 bits, infeasible to guess.
const LENGTH: usize = 25;
/// Number of characters between two hyphens of the display form.
const GROUP_LENGTH: usize = 5;
/// Maximum length of a typed code, in bytes.
const MAX_CODE_BYTES: usize = 64;

/// Generates codes in display form: `K3V9A-0QXZ7-...`.
pub(crate) fn fresh() -> Result<Vec<Secret<String>>, Unavailable> {
    (0..COUNT).map(|_| fresh_code()).collect()
}

fn fresh_code() -> Result<Secret<String>, Unavailable> {
    let bytes = random_bytes::<LENGTH>()?;
    // 256 is a multiple of 32, so all characters are equally likely.
    let letter = |it: &u8| LETTERS.get(usize::from(it % 32)).copied().map(char::from);
    let letters: Vec<char> = bytes.iter().filter_map(letter).collect();
    let groups: Vec<String> = letters.chunks(GROUP_LENGTH).map(String::from_iter).collect();
    Ok(Secret::new(groups.join("-")))
}

/// Returns the hash of a typed code; `None` if it is malformed. Case, spaces, hyphens and
/// look-alike letters are normalised.
///
/// Hashes are specific to the user. The key is no secret, since a code cannot be guessed and must
/// outlive changes of the server's keys.
pub(crate) fn hash(user: UserId, typed: &Secret<String>) -> Option<RecoveryHash> {
    let code = parse(typed.expose())?;
    let key = hmac::Key::new(hmac::HMAC_SHA256, user.0.as_bytes());
    let mut tagged = b"recovery-code-v1:".to_vec();
    tagged.extend_from_slice(&code);
    let mut hash = [0; 32];
    hash.copy_from_slice(hmac::sign(&key, &tagged).as_ref());
    Some(RecoveryHash(hash))
}

/// Returns the side effects of a used recovery code. The owner is emailed, since such a code
/// replaces the authenticator; the email has the number of codes `left`, if known.
pub(crate) fn use_effects(user: UserId, at: Timestamp, left: Option<u64>) -> SideEffects {
    let mut email = QueuedEmail::new("recovery-code-used");
    if let Some(left) = left {
        email = email.with("left", left.to_string());
    }
    SideEffects::audit(at, user, "recovery_code.used").and_mail(email.to_user(at, user))
}

fn parse(typed: &str) -> Option<[u8; LENGTH]> {
    if typed.len() > MAX_CODE_BYTES {
        return None;
    }

    let letters = typed.trim().chars().filter(|it| ![' ', '-'].contains(it)).map(parse_letter);
    letters.collect::<Option<Vec<u8>>>()?.try_into().ok()
}

/// Returns the letter that was typed, also as a look-alike or in lower case.
fn parse_letter(typed: char) -> Option<u8> {
    let letter = match typed.to_ascii_uppercase() {
        'O' => b'0',
        'I' | 'L' => b'1',
        other => u8::try_from(other).ok()?,
    };
    LETTERS.contains(&letter).then_some(letter)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn hash_text(user: UserId, typed: &str) -> Option<RecoveryHash> {
        hash(user, &Secret::new(typed.to_owned()))
    }

    #[test]
    fn ten_distinct_codes_have_five_groups_of_five() {
        let codes = fresh().unwrap();

        let texts: HashSet<&String> = codes.iter().map(Secret::expose).collect();
        assert_eq!(texts.len(), 10);
        for text in texts {
            let groups: Vec<&str> = text.split('-').collect();
            assert!(groups.len() == 5 && groups.iter().all(|it| it.len() == 5), "{text}");
        }
    }

    #[test]
    fn typed_variants_of_a_code_have_one_hash() {
        let user = UserId::generate();
        let known_hash = hash_text(user, "K3V90-0QXZ7-1BCDE-FGHJK-MNPQR");

        assert!(known_hash.is_some());
        for typed in [
            "k3v90-0qxz7-1bcde-fghjk-mnpqr",
            " K3V900QXZ71BCDEFGHJKMNPQR\n",
            "K3V9O oQXZ7 lBCDE FGHJK-MNPQR",
            "K3V90-0QXZ7-IBCDE-FGHJK-MNPQR",
        ] {
            assert_eq!(hash_text(user, typed), known_hash, "{typed}");
        }
    }

    #[test]
    fn hashes_differ_between_users() {
        let code = "K3V90-0QXZ7-1BCDE-FGHJK-MNPQR";

        assert_ne!(hash_text(UserId::generate(), code), hash_text(UserId::generate(), code));
    }

    #[test]
    fn malformed_codes_have_no_hash() {
        let user = UserId::generate();

        for typed in [
            "",
            "K3V90",
            "K3V90-0QXZ7-1BCDE-FGHJK-MNPQRS",
            "K3V90-0QXZ7-1BCDE-FGHJK-MNPQU",
            "K3V90-0QXZ7-1BCDE-FGHJK-MNP\u{0}R",
            "K3V90-0QXZ7-1BCDE-FGHJK-MNPQÄ",
            &" ".repeat(100),
        ] {
            assert_eq!(hash_text(user, typed), None, "{typed}");
        }
    }
}
