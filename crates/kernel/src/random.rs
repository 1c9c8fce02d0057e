//! Random bytes of the operating system.

use ring::rand::{SecureRandom, SystemRandom};

use crate::Unavailable;

/// Returns random bytes for keys and tokens. Fails if the operating system has
/// no entropy.
pub fn random_bytes<const N: usize>() -> Result<[u8; N], Unavailable> {
    let mut bytes = [0; N];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|err| Unavailable::new("randomness", err.to_string()))?;
    Ok(bytes)
}
