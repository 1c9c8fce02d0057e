//! Making and comparing hashes: pure computation, as long as it takes.

use std::fmt;

use argon2::password_hash::phc::{Output, ParamsString, PasswordHash, Salt};
use argon2::password_hash::try_generate_salt;
use argon2::{Algorithm, Argon2, Params, Version};
use pia_identity::Verdict;
use pia_kernel::{Secret, Unavailable};

use crate::cost::HashCost;
use crate::memory::HashMemory;

/// The length of what is stored: 256 bits.
const TAG_LENGTH: usize = 32;

/// Hashes a password to the PHC string that is stored.
pub(crate) fn hash(
    password: &str,
    cost: HashCost,
    memory: &mut HashMemory,
) -> Result<Secret<String>, Unavailable> {
    let salt = try_generate_salt().map_err(failed)?;
    let salt = Salt::new(&salt).map_err(failed)?;
    let way = HashVariant::of_today(cost)?;
    let tag = way.tag(password, &salt, memory)?;
    let made = PasswordHash {
        algorithm: way.algorithm.ident(),
        version: Some(way.version.into()),
        params: ParamsString::try_from(&way.params).map_err(failed)?,
        salt: Some(salt),
        hash: Some(tag),
    };
    Ok(Secret::new(made.to_string()))
}

/// Compares a password with what was stored of one; with nothing stored, a hash
/// of today's cost is made all the same.
///
/// What was stored at another cost takes that other time, right or wrong, until
/// its owner signs in and it is made anew.
pub(crate) fn verify(
    password: &str,
    stored: Option<&str>,
    cost: HashCost,
    memory: &mut HashMemory,
) -> Result<Verdict, Unavailable> {
    let today = HashVariant::of_today(cost)?;
    let Some(stored) = stored else {
        let salt = Salt::new(&[0; Salt::RECOMMENDED_LENGTH]).map_err(failed)?;
        std::hint::black_box(today.tag(password, &salt, memory)?);
        return Ok(Verdict::Wrong);
    };
    let StoredHash { way, salt, tag } = StoredHash::parse(stored)?;
    // `Output` compares in constant time.
    let right = way.tag(password, &salt, memory)? == tag;
    let up_to_date = way == today && salt.len() >= Salt::RECOMMENDED_LENGTH;
    Ok(match (right, up_to_date) {
        (true, true) => Verdict::Right,
        (true, false) => Verdict::RightButOutdated,
        (false, _) => Verdict::Wrong,
    })
}

/// The way from a password to its tag.
#[derive(PartialEq)]
struct HashVariant {
    algorithm: Algorithm,
    version: Version,
    params: Params,
}

impl HashVariant {
    fn of_today(cost: HashCost) -> Result<Self, Unavailable> {
        let params = cost.params(TAG_LENGTH).map_err(failed)?;
        Ok(Self { algorithm: Algorithm::Argon2id, version: Version::V0x13, params })
    }

    fn tag(
        &self,
        password: &str,
        salt: &Salt,
        memory: &mut HashMemory,
    ) -> Result<Output, Unavailable> {
        let mut tag = [0; Output::MAX_LENGTH];
        let length = self.params.output_len().unwrap_or(TAG_LENGTH);
        let tag = tag.get_mut(..length).ok_or_else(|| failed("the tag is too long"))?;
        let blocks = memory.blocks(self.params.block_count())?;
        Argon2::new(self.algorithm, self.version, self.params.clone())
            .hash_password_into_with_memory(password.as_bytes(), salt, tag, blocks)
            .map_err(failed)?;
        Output::new(tag).map_err(failed)
    }
}

/// A PHC string, taken apart.
struct StoredHash {
    way: HashVariant,
    salt: Salt,
    tag: Output,
}

impl StoredHash {
    fn parse(phc: &str) -> Result<Self, Unavailable> {
        let parsed = PasswordHash::new(phc).map_err(unreadable)?;
        let (Some(salt), Some(tag)) = (parsed.salt, parsed.hash) else {
            return Err(unreadable("it has no salt or no tag"));
        };
        let algorithm = Algorithm::new(parsed.algorithm).map_err(unreadable)?;
        // Before it had versions, the algorithm was what is now called 0x10.
        let version = parsed.version.map_or(Ok(Version::V0x10), Version::try_from);
        let version = version.map_err(unreadable)?;
        let reported = Params::try_from(&parsed).map_err(unreadable)?;
        // Our own bounds: what is stored must not make the server take all memory.
        let params = HashCost::new(reported.m_cost(), reported.t_cost(), reported.p_cost())
            .map_err(unreadable)?
            .params(tag.len())
            .map_err(unreadable)?;
        Ok(Self { way: HashVariant { algorithm, version, params }, salt, tag })
    }
}

fn failed(cause: impl fmt::Display) -> Unavailable {
    Unavailable::new("password hashing", cause.to_string())
}

fn unreadable(cause: impl fmt::Display) -> Unavailable {
    Unavailable::new("what was kept of a password", cause.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWORD: &str = "correct horse battery staple";

    fn cheap() -> HashCost {
        HashCost::new(64, 1, 1).unwrap()
    }

    fn stored_hash() -> Secret<String> {
        hash(PASSWORD, cheap(), &mut HashMemory::default()).unwrap()
    }

    fn verdict(password: &str, stored: &str) -> Verdict {
        verify(password, Some(stored), cheap(), &mut HashMemory::default()).unwrap()
    }

    #[test]
    fn a_hash_states_how_it_was_made() {
        let stored = stored_hash();

        assert!(stored.expose().starts_with("$argon2id$v=19$m=64,t=1,p=1$"), "{}", stored.expose());
    }

    #[test]
    fn the_same_password_is_stored_differently_each_time() {
        assert_ne!(stored_hash().expose(), stored_hash().expose());
    }

    #[test]
    fn only_the_very_same_password_is_right() {
        let stored = stored_hash();

        assert_eq!(verdict(PASSWORD, stored.expose()), Verdict::Right);
        for other in ["", "Correct horse battery staple", "correct horse battery staple "] {
            assert_eq!(verdict(other, stored.expose()), Verdict::Wrong, "{other:?}");
        }
    }

    #[test]
    fn a_tag_of_the_reference_implementation_is_understood() {
        // From the test vectors of the reference implementation in C.
        let stored = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ\
                    $nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";

        assert_eq!(verdict("password", stored), Verdict::RightButOutdated);
        assert_eq!(verdict("Password", stored), Verdict::Wrong);
    }

    #[test]
    fn what_was_stored_at_another_cost_is_right_but_outdated() {
        let others = [HashCost::new(128, 1, 1), HashCost::new(64, 2, 1), HashCost::new(64, 1, 2)];
        for other in others {
            let stored = hash(PASSWORD, other.unwrap(), &mut HashMemory::default()).unwrap();

            assert_eq!(verdict(PASSWORD, stored.expose()), Verdict::RightButOutdated, "{other:?}");
            assert_eq!(verdict("wrong", stored.expose()), Verdict::Wrong, "{other:?}");
        }
    }

    #[test]
    fn memory_that_was_used_before_changes_no_hash() {
        let mut memory = HashMemory::default();
        let first = hash(PASSWORD, HashCost::new(256, 3, 4).unwrap(), &mut memory).unwrap();
        let second = hash(PASSWORD, cheap(), &mut memory).unwrap();

        assert_eq!(verdict(PASSWORD, first.expose()), Verdict::RightButOutdated);
        assert_eq!(verdict(PASSWORD, second.expose()), Verdict::Right);
    }

    #[test]
    fn an_unknown_address_costs_as_many_hashes_as_a_known_one() {
        let stored = stored_hash();
        for (password, stored) in [
            (PASSWORD, Some(stored.expose().as_str())),
            ("wrong", Some(stored.expose().as_str())),
            (PASSWORD, None),
        ] {
            let mut memory = HashMemory::default();

            verify(password, stored, cheap(), &mut memory).unwrap();

            assert_eq!(memory.hashes, 1, "{password} {stored:?}");
        }
    }

    #[test]
    fn nothing_is_right_where_nothing_was_stored() {
        let verdict = verify("", None, cheap(), &mut HashMemory::default());

        assert_eq!(verdict.unwrap(), Verdict::Wrong);
    }

    #[test]
    fn what_cannot_be_read_is_an_outage_and_no_wrong_password() {
        for stored in [
            "",
            "plain text",
            "$2b$12$abcdefghijklmnopqrstuv",
            "$argon2id$v=19$m=64,t=1,p=1",
            "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ",
            "$argon2id$v=20$m=64,t=1,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
            "$argon2id$v=19$m=4294967295,t=1,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
            "$argon2id$v=19$m=64,t=4294967295,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
        ] {
            let outcome = verify(PASSWORD, Some(stored), cheap(), &mut HashMemory::default());

            assert!(outcome.is_err(), "{stored}");
        }
    }
}
