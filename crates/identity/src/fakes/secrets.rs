//! Encryption of secrets that only labels them.

use async_trait::async_trait;
use pia_kernel::{Secret, Unavailable, UserId};

use super::{InMemoryFactors, Meanwhile};
use crate::ports::SecretBox;

#[async_trait]
impl SecretBox for InMemoryFactors {
    async fn seal(
        &self,
        user: UserId,
        purpose: &'static str,
        secret: &Secret<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, Unavailable> {
        let gone = self.state().meanwhile == Some(Meanwhile::Deleted);
        Ok((!gone).then(|| [user.0.as_bytes(), purpose.as_bytes(), secret.expose()].concat()))
    }

    async fn open(
        &self,
        user: UserId,
        purpose: &'static str,
        sealed: &[u8],
    ) -> Result<Option<Secret<Vec<u8>>>, Unavailable> {
        let is_lost = self.state().key_lost;
        let label = [user.0.as_bytes(), purpose.as_bytes()].concat();
        let secret = if is_lost { None } else { sealed.strip_prefix(&label[..]) };
        Ok(secret.map(|it| Secret::new(it.to_vec())))
    }

    fn is_outdated(&self, _: &[u8]) -> bool {
        self.state().key_changed
    }
}
