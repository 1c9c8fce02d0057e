//! Random bytes of the operating system.

use ring::rand::{SecureRandom, SystemRandom};

use crate::Unavailable;

/// Returns random bytes that nobody can guess. Fails where the operating system
/// has none to give.
pub fn random_bytes<const N: usize>() -> Result<[u8; N], Unavailable> {
    let mut bytes = [0; N];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|err| Unavailable::new("randomness", err.to_string()))?;
    Ok(bytes)
}
