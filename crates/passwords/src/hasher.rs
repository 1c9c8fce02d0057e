//! Adapter of [`PasswordHasher`]: runs each hash on the pool, at the current cost.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;
use pia_identity::{PasswordHasher, Verdict};
use pia_kernel::{LiveSetting, Secret, Unavailable};

use crate::argon2id;
use crate::cost::HashCost;
use crate::pool::Pool;

/// Limits on the machine's resources for password hashing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolSize {
    /// Number of concurrent hashes, each on a thread with its own memory.
    pub threads: NonZeroUsize,
    /// Maximum number of waiting requests; further ones are refused, so that under overload callers
    /// retry instead of waiting in vain.
    pub waiting: NonZeroUsize,
}

/// Argon2id hasher with dedicated threads.
#[derive(Clone)]
pub struct Argon2Hasher {
    cost: LiveSetting<HashCost>,
    pool: Arc<Pool>,
}

impl Argon2Hasher {
    /// Starts a hasher and its threads, which end with its last clone.
    pub fn new(cost: LiveSetting<HashCost>, size: PoolSize) -> io::Result<Self> {
        let pool = Arc::new(Pool::start(size.threads, size.waiting.get())?);
        Ok(Self { cost, pool })
    }
}

#[async_trait]
impl PasswordHasher for Argon2Hasher {
    async fn hash(&self, password: Secret<String>) -> Result<Secret<String>, Unavailable> {
        let cost = *self.cost.get();
        self.pool.run(move |memory| argon2id::hash(password.expose(), cost, memory)).await?
    }

    async fn verify(
        &self,
        password: Secret<String>,
        stored: Option<Secret<String>>,
    ) -> Result<Verdict, Unavailable> {
        let cost = *self.cost.get();
        self.pool
            .run(move |memory| {
                let hash = stored.as_ref().map(|it| it.expose().as_str());
                argon2id::verify(password.expose(), hash, cost, memory)
            })
            .await?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start_hasher(cost: &LiveSetting<HashCost>) -> Argon2Hasher {
        let threads = NonZeroUsize::MIN;
        let waiting = NonZeroUsize::new(8).unwrap();
        Argon2Hasher::new(cost.clone(), PoolSize { threads, waiting }).unwrap()
    }

    fn secret(text: &str) -> Secret<String> {
        Secret::new(text.to_owned())
    }

    #[tokio::test]
    async fn a_password_is_right_until_the_cost_changes_and_then_outdated() {
        let cost = LiveSetting::new(HashCost::new(64, 1, 1).unwrap());
        let hasher = start_hasher(&cost);
        let hash = hasher.hash(secret("a fine password")).await.unwrap();

        let before = hasher.verify(secret("a fine password"), Some(hash.clone())).await.unwrap();
        cost.set(HashCost::new(128, 1, 1).unwrap());
        let after = hasher.verify(secret("a fine password"), Some(hash)).await.unwrap();

        assert_eq!(before, Verdict::Right);
        assert_eq!(after, Verdict::RightButOutdated);
    }

    #[tokio::test]
    async fn a_wrong_password_and_no_password_are_both_wrong() {
        let hasher = start_hasher(&LiveSetting::new(HashCost::new(64, 1, 1).unwrap()));
        let hash = hasher.hash(secret("a fine password")).await.unwrap();

        let wrong = hasher.verify(secret("another password"), Some(hash)).await.unwrap();
        let unknown = hasher.verify(secret("another password"), None).await.unwrap();

        assert_eq!(wrong, Verdict::Wrong);
        assert_eq!(unknown, Verdict::Wrong);
    }
}
