//! Throttling of guesses at passwords and second factors that does not affect the owner.
//!
//! A guess is counted as wrong before it is verified, so that concurrent guesses cannot exceed the
//! limit. Afterwards, [`clear`](PasswordThrottle::clear) the count if it was right, or
//! [`give_back`](PasswordThrottle::give_back) the guess if it could not be verified. A wrong one
//! stays counted.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pia_kernel::{Clock, Unavailable, UserId};
use ring::digest;

use crate::people::email::fold_email;
use crate::ports::{GuessRules, PasswordThrottleStore, RateLimitOutcome};
use crate::sign_in::device::{Network, SignInDevice};

/// Key under which guesses are counted. It does not reveal the address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bucket(String);

impl Bucket {
    fn for_factor(user: UserId) -> Self {
        Self(format!("second-factor:{user}"))
    }

    fn for_email(email: &str, known_network: Option<Network>) -> Self {
        let mut hash = digest::Context::new(&digest::SHA256);
        hash.update(fold_email(email).as_bytes());
        if let Some(network) = known_network {
            // An address never contains a line break.
            hash.update(b"\n");
            hash.update(network.to_string().as_bytes());
        }
        Self(format!("sign-in:{}", URL_SAFE_NO_PAD.encode(hash.finish())))
    }
}

/// Errors that prevent a guess from being verified.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GuessError {
    /// Too many wrong passwords.
    #[error("too many wrong guesses")]
    Wait(Duration),
    /// The store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Counts wrong passwords, each of which delays the next one longer.
///
/// Guesses from a network that the account was signed in to before are counted separately; those
/// from all others are counted together: strangers slow down each other, but never the owner. An
/// address without an account is counted like any other.
#[derive(Clone)]
pub(crate) struct PasswordThrottle {
    pub(crate) store: Arc<dyn PasswordThrottleStore>,
    pub(crate) rules: GuessRules,
    pub(crate) clock: Arc<dyn Clock>,
}

impl PasswordThrottle {
    /// Counts a guess at a password as wrong in advance. `known_network` is the network of the
    /// guess, if the account was signed in to from it before.
    pub(crate) async fn count_password(
        &self,
        email: &str,
        known_network: Option<Network>,
    ) -> Result<Bucket, GuessError> {
        self.count_bucket(Bucket::for_email(email, known_network)).await
    }

    /// Counts a guess at a second factor as wrong in advance. The user's password must have been
    /// verified.
    pub(crate) async fn count_factor(&self, user: UserId) -> Result<Bucket, GuessError> {
        self.count_bucket(Bucket::for_factor(user)).await
    }

    /// Returns whether all free guesses are used up.
    pub(crate) async fn are_used_up(&self, bucket: &Bucket) -> Result<bool, Unavailable> {
        Ok(self.store.failures(&bucket.0).await? >= self.rules.free)
    }

    async fn count_bucket(&self, bucket: Bucket) -> Result<Bucket, GuessError> {
        match self.store.count(&bucket.0, self.rules, self.clock.now()).await? {
            RateLimitOutcome::Allowed => Ok(bucket),
            RateLimitOutcome::Wait(wait) => Err(GuessError::Wait(wait.min(self.rules.max_wait))),
        }
    }

    /// Clears the wrong guesses after a right one. A failure is only logged.
    pub(crate) async fn clear(&self, bucket: &Bucket) {
        log_failure(self.store.clear(&bucket.0).await);
    }

    /// Clears the wrong guesses after the owner has proved ownership in another way. A failure is
    /// only logged.
    pub(crate) async fn forgive(&self, email: &str, device: &SignInDevice) {
        log_failure(self.store.clear(&Bucket::for_email(email, None).0).await);
        if let Some(network) = device.network() {
            log_failure(self.store.clear(&Bucket::for_email(email, Some(network)).0).await);
        }
    }

    /// Gives a guess back that was not verified.
    pub(crate) async fn give_back(&self, bucket: &Bucket) {
        log_failure(self.store.give_back(&bucket.0, self.rules).await);
    }
}

/// Returns the keys of all buckets of an account: of its second factor, and of its password from
/// unknown and from these networks.
pub(crate) fn bucket_keys(
    user: UserId,
    email: &str,
    networks: impl Iterator<Item = Network>,
) -> Vec<String> {
    let password_keys = networks.map(Some).chain([None]).map(|it| Bucket::for_email(email, it).0);
    let distinct_keys: BTreeSet<String> =
        password_keys.chain([Bucket::for_factor(user).0]).collect();
    distinct_keys.into_iter().collect()
}

fn log_failure(outcome: Result<(), Unavailable>) {
    if let Err(err) = outcome {
        tracing::warn!(
            error = &err as &dyn std::error::Error,
            "failed to update the count of wrong guesses"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> Option<Network> {
        SignInDevice { address: text.parse().ok(), ..SignInDevice::default() }.network()
    }

    #[test]
    fn spellings_of_an_address_share_a_bucket_that_does_not_reveal_it() {
        let ada = Bucket::for_email("ada@example.org", None);

        assert_eq!(Bucket::for_email(" Ada@Example.org", None), ada);
        assert_ne!(Bucket::for_email("eve@example.org", None), ada);
        assert!(!ada.0.contains("ada"));
    }

    #[test]
    fn each_known_network_has_a_separate_bucket() {
        let ada = |from| Bucket::for_email("ada@example.org", network(from));

        assert_ne!(ada("192.0.2.1"), Bucket::for_email("ada@example.org", None));
        assert_ne!(ada("192.0.2.1"), ada("192.0.2.2"));
        assert_eq!(ada("2001:db8:1:2::1"), ada("2001:db8:1:2:ffff::9"));
        assert_ne!(ada("2001:db8:1:2::1"), ada("2001:db8:1:3::1"));
        assert_eq!(ada("::ffff:192.0.2.1"), ada("192.0.2.1"));
    }
}
