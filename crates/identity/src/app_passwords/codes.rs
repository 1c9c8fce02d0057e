//! Format and hash of app passwords: `pia` and five groups of five
//! characters.
//!
//! `AppPasswords::create` generates one. `sign_in.rs` hashes each password
//! that a program presents, and looks that hash up before it verifies the
//! account's own password.

use pia_kernel::{Secret, Unavailable, random_bytes};
use ring::digest;

use crate::ports::AppPasswordHash;

/// Crockford's base 32, without letters that look like digits.
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Prefix that distinguishes app passwords from other passwords at a glance.
const PREFIX: &str = "pia";
/// Length in characters: 125 bits, so a fast hash is sufficient.
const LENGTH: usize = 25;
const GROUP: usize = 5;
/// Maximum length of a typed app password, in bytes.
const MAX_CODE_BYTES: usize = 64;

/// Generates an app password in display form: `pia-k3v9a-…`.
pub(crate) fn fresh() -> Result<Secret<String>, Unavailable> {
    let bytes = random_bytes::<LENGTH>()?;
    // 256 is a multiple of 32, so all characters are equally likely.
    let letter = |it: &u8| LETTERS.get(usize::from(it % 32)).copied().map(char::from);
    let groups = bytes.chunks(GROUP).map(|it| it.iter().filter_map(letter).collect::<String>());
    let parts: Vec<String> = std::iter::once(PREFIX.to_owned()).chain(groups).collect();
    Ok(Secret::new(parts.join("-")))
}

/// Returns the hash of a typed app password; `None` if it is malformed. Case, spaces, hyphens and
/// look-alike letters are normalised.
pub(crate) fn hash(typed: &Secret<String>) -> Option<AppPasswordHash> {
    let letters = parse(typed.expose())?;
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(b"app-password-v1:");
    context.update(&letters);
    let mut hash = [0; 32];
    hash.copy_from_slice(context.finish().as_ref());
    Some(AppPasswordHash(hash))
}

fn parse(typed: &str) -> Option<[u8; LENGTH]> {
    if typed.len() > MAX_CODE_BYTES {
        return None;
    }

    let bare = typed.trim().replace([' ', '-'], "").to_ascii_lowercase();
    let letters = bare.strip_prefix(PREFIX)?.bytes().map(|it| {
        let letter = match it {
            b'o' => b'0',
            b'i' | b'l' => b'1',
            other => other,
        };
        LETTERS.contains(&letter).then_some(letter)
    });

    letters.collect::<Option<Vec<u8>>>()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashed(typed: &str) -> Option<AppPasswordHash> {
        hash(&Secret::new(typed.to_owned()))
    }

    #[test]
    fn new_app_passwords_are_distinct_and_have_five_groups() {
        let password = fresh().unwrap();
        let other_password = fresh().unwrap();

        let groups: Vec<&str> = password.expose().split('-').collect();
        assert_eq!(groups.len(), 6);
        assert_eq!(groups[0], "pia");
        assert!(groups[1..].iter().all(|it| it.len() == 5), "{groups:?}");
        assert!(hash(&password).is_some());
        assert_ne!(hash(&password), hash(&other_password));
    }

    #[test]
    fn typed_variants_have_one_hash() {
        let known_hash = hashed("pia-k3v90-0qxz7-1bcde-fghjk-mnpqr");

        assert!(known_hash.is_some());
        for typed in [
            "PIA-K3V90-0QXZ7-1BCDE-FGHJK-MNPQR",
            " pia k3v9o oqxz7 lbcde fghjk mnpqr\n",
            "piak3v900qxz7ibcdefghjkmnpqr",
        ] {
            assert_eq!(hashed(typed), known_hash, "{typed}");
        }
    }

    #[test]
    fn the_hash_is_domain_separated() {
        let plain_digest = digest::digest(&digest::SHA256, b"k3v900qxz71bcdefghjkmnpqr");

        let stored_hash = hashed("pia-k3v90-0qxz7-1bcde-fghjk-mnpqr").unwrap();

        assert_ne!(stored_hash.0, plain_digest.as_ref());
    }

    #[test]
    fn malformed_app_passwords_have_no_hash() {
        for typed in [
            "",
            "pia",
            "correct horse battery staple",
            "k3v90-0qxz7-1bcde-fghjk-mnpqr",
            "pia-k3v90-0qxz7-1bcde-fghjk-mnpq",
            "pia-k3v90-0qxz7-1bcde-fghjk-mnpqrs",
            "pia-k3v90-0qxz7-1bcde-fghjk-mnpqu",
            "pia-k3v90-0qxz7-1bcde-fghjk-mnp\0r",
            "pia-k3v90-0qxz7-1bcde-fghjk-mnpqä",
            &" ".repeat(100),
        ] {
            assert_eq!(hashed(typed), None, "{typed:?}");
        }
    }
}
