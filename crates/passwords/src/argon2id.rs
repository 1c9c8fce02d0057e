//! Computation and verification of Argon2id hashes, synchronous and CPU-bound.
//!
//! `hash` always uses the current cost, `verify` that of the stored hash. A
//! right password whose hash has another cost is `RightButOutdated`, so that
//! the caller can replace the hash.

use std::fmt;

use argon2::password_hash::phc::{Output, ParamsString, PasswordHash, Salt};
use argon2::password_hash::try_generate_salt;
use argon2::{Algorithm, Argon2, Params, Version};
use pia_identity::Verdict;
use pia_kernel::{Secret, Unavailable};

use crate::cost::HashCost;
use crate::memory::HashMemory;

/// Length of a tag, in bytes: 256 bits.
const TAG_LENGTH: usize = 32;

/// Hashes a password to the PHC string that is stored.
pub(crate) fn hash(
    password: &str,
    cost: HashCost,
    memory: &mut HashMemory,
) -> Result<Secret<String>, Unavailable> {
    let salt_bytes = try_generate_salt().map_err(failed)?;
    let salt = Salt::new(&salt_bytes).map_err(failed)?;
    let variant = HashVariant::current(cost)?;
    let tag = variant.tag(password, &salt, memory)?;
    let phc = PasswordHash {
        algorithm: variant.algorithm.ident(),
        version: Some(variant.version.into()),
        params: ParamsString::try_from(&variant.params).map_err(failed)?,
        salt: Some(salt),
        hash: Some(tag),
    };

    Ok(Secret::new(phc.to_string()))
}

/// Compares a password with a stored hash.
///
/// Without a stored hash, the password is wrong, but a hash is computed all the same: otherwise
/// quick responses would reveal which addresses have no account. A stored hash of another cost
/// still takes a different time, until its owner signs in and it is replaced.
pub(crate) fn verify(
    password: &str,
    stored_phc: Option<&str>,
    cost: HashCost,
    memory: &mut HashMemory,
) -> Result<Verdict, Unavailable> {
    let current = HashVariant::current(cost)?;
    let Some(phc) = stored_phc else {
        compute_unused_tag(&current, password, memory)?;
        return Ok(Verdict::Wrong);
    };

    let StoredHash { variant, salt, tag } = StoredHash::parse(phc)?;
    // `Output` compares in constant time.
    let is_right = variant.tag(password, &salt, memory)? == tag;
    let is_up_to_date = variant == current && salt.len() >= Salt::RECOMMENDED_LENGTH;
    Ok(match (is_right, is_up_to_date) {
        (true, true) => Verdict::Right,
        (true, false) => Verdict::RightButOutdated,
        (false, _) => Verdict::Wrong,
    })
}

/// Takes as long as the verification of a password.
fn compute_unused_tag(
    variant: &HashVariant,
    password: &str,
    memory: &mut HashMemory,
) -> Result<(), Unavailable> {
    let salt = Salt::new(&[0; Salt::RECOMMENDED_LENGTH]).map_err(failed)?;
    let tag = variant.tag(password, &salt, memory)?;
    // The compiler must not remove the computation because its result is unused.
    std::hint::black_box(tag);
    Ok(())
}

/// Algorithm, version and parameters of a hash.
#[derive(PartialEq)]
struct HashVariant {
    algorithm: Algorithm,
    version: Version,
    params: Params,
}

impl HashVariant {
    fn current(cost: HashCost) -> Result<Self, Unavailable> {
        let params = cost.params(TAG_LENGTH).map_err(failed)?;
        Ok(Self { algorithm: Algorithm::Argon2id, version: Version::V0x13, params })
    }

    fn tag(
        &self,
        password: &str,
        salt: &Salt,
        memory: &mut HashMemory,
    ) -> Result<Output, Unavailable> {
        let mut buffer = [0; Output::MAX_LENGTH];
        let length = self.params.output_len().unwrap_or(TAG_LENGTH);
        let tag = buffer.get_mut(..length).ok_or_else(|| failed("the tag is too long"))?;
        let blocks = memory.blocks(self.params.block_count())?;
        Argon2::new(self.algorithm, self.version, self.params.clone())
            .hash_password_into_with_memory(password.as_bytes(), salt, tag, blocks)
            .map_err(failed)?;
        Output::new(tag).map_err(failed)
    }
}

/// A parsed PHC string.
struct StoredHash {
    variant: HashVariant,
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
        // Hashes without a version are of what is now called 0x10.
        let version =
            parsed.version.map_or(Ok(Version::V0x10), Version::try_from).map_err(unreadable)?;
        let parsed_params = Params::try_from(&parsed).map_err(unreadable)?;
        // Enforces our own bounds: a stored hash must not make the server allocate all memory.
        let params =
            HashCost::new(parsed_params.m_cost(), parsed_params.t_cost(), parsed_params.p_cost())
                .map_err(unreadable)?
                .params(tag.len())
                .map_err(unreadable)?;

        Ok(Self { variant: HashVariant { algorithm, version, params }, salt, tag })
    }
}

fn failed(cause: impl fmt::Display) -> Unavailable {
    Unavailable::new("password hashing", cause.to_string())
}

fn unreadable(cause: impl fmt::Display) -> Unavailable {
    Unavailable::new("a stored password hash", cause.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWORD: &str = "correct horse battery staple";

    fn cheap_cost() -> HashCost {
        HashCost::new(64, 1, 1).unwrap()
    }

    fn stored_hash() -> Secret<String> {
        hash(PASSWORD, cheap_cost(), &mut HashMemory::default()).unwrap()
    }

    fn verdict(password: &str, phc: &str) -> Verdict {
        verify(password, Some(phc), cheap_cost(), &mut HashMemory::default()).unwrap()
    }

    #[test]
    fn a_hash_contains_its_parameters() {
        let phc = stored_hash();

        assert!(phc.expose().starts_with("$argon2id$v=19$m=64,t=1,p=1$"), "{}", phc.expose());
    }

    #[test]
    fn hashes_of_a_password_differ() {
        assert_ne!(stored_hash().expose(), stored_hash().expose());
    }

    #[test]
    fn only_the_exact_password_is_right() {
        let phc = stored_hash();

        assert_eq!(verdict(PASSWORD, phc.expose()), Verdict::Right);
        for password in ["", "Correct horse battery staple", "correct horse battery staple "] {
            assert_eq!(verdict(password, phc.expose()), Verdict::Wrong, "{password:?}");
        }
    }

    #[test]
    fn a_tag_of_the_reference_implementation_is_verified() {
        // From the test vectors of the reference implementation in C.
        let phc = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ\
                    $nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";

        assert_eq!(verdict("password", phc), Verdict::RightButOutdated);
        assert_eq!(verdict("Password", phc), Verdict::Wrong);
    }

    #[test]
    fn a_hash_of_another_cost_is_right_but_outdated() {
        let costs = [HashCost::new(128, 1, 1), HashCost::new(64, 2, 1), HashCost::new(64, 1, 2)];
        for cost in costs {
            let phc = hash(PASSWORD, cost.unwrap(), &mut HashMemory::default()).unwrap();

            assert_eq!(verdict(PASSWORD, phc.expose()), Verdict::RightButOutdated, "{cost:?}");
            assert_eq!(verdict("wrong", phc.expose()), Verdict::Wrong, "{cost:?}");
        }
    }

    #[test]
    fn reused_memory_does_not_change_hashes() {
        let mut memory = HashMemory::default();

        let costly_phc = hash(PASSWORD, HashCost::new(256, 3, 4).unwrap(), &mut memory).unwrap();
        let cheap_phc = hash(PASSWORD, cheap_cost(), &mut memory).unwrap();

        assert_eq!(verdict(PASSWORD, costly_phc.expose()), Verdict::RightButOutdated);
        assert_eq!(verdict(PASSWORD, cheap_phc.expose()), Verdict::Right);
    }

    #[test]
    fn an_unknown_address_costs_as_many_hashes_as_a_known_one() {
        let phc = stored_hash();
        for (password, known_phc) in [
            (PASSWORD, Some(phc.expose().as_str())),
            ("wrong", Some(phc.expose().as_str())),
            (PASSWORD, None),
        ] {
            let mut memory = HashMemory::default();

            verify(password, known_phc, cheap_cost(), &mut memory).unwrap();

            assert_eq!(memory.hashes, 1, "{password} {known_phc:?}");
        }
    }

    #[test]
    fn without_a_stored_hash_every_password_is_wrong() {
        let verdict = verify("", None, cheap_cost(), &mut HashMemory::default());

        assert_eq!(verdict.unwrap(), Verdict::Wrong);
    }

    #[test]
    fn an_unreadable_hash_is_an_outage_and_no_wrong_password() {
        for phc in [
            "",
            "plain text",
            "$2b$12$abcdefghijklmnopqrstuv",
            "$argon2id$v=19$m=64,t=1,p=1",
            "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ",
            "$argon2id$v=20$m=64,t=1,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
            "$argon2id$v=19$m=4294967295,t=1,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
            "$argon2id$v=19$m=64,t=4294967295,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
        ] {
            let outcome = verify(PASSWORD, Some(phc), cheap_cost(), &mut HashMemory::default());

            assert!(outcome.is_err(), "{phc}");
        }
    }
}
