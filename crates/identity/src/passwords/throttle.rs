//! Slowing down whoever guesses at passwords and second factors, and nobody else.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pia_kernel::{Clock, Unavailable, UserId};
use ring::digest;

use crate::people::email::fold_email;
use crate::ports::{GuessRules, PasswordThrottleStore, RateLimitOutcome};
use crate::sign_in::device::{Network, SignInDevice};

/// Key under which guesses are counted. Addresses cannot be recovered from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bucket(String);

/// Reasons why a guess was not looked at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GuessError {
    /// Too many wrong passwords.
    #[error("too many wrong guesses")]
    Wait(Duration),
    /// The ledger did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Counts wrong passwords, each of which makes the next one wait longer.
///
/// Whoever comes from where an account was signed in to before is counted
/// apart from all others, who are counted together: strangers slow down one
/// another, and never the owner. An address without an account is counted
/// like any other.
#[derive(Clone)]
pub(crate) struct PasswordThrottle {
    pub(crate) ledger: Arc<dyn PasswordThrottleStore>,
    pub(crate) rules: GuessRules,
    pub(crate) clock: Arc<dyn Clock>,
}

impl PasswordThrottle {
    /// Counts a guess at a password as wrong, until something else is known of
    /// it. `known` is from where it comes, if the account was signed in to from
    /// there before.
    pub(crate) async fn count(
        &self,
        email: &str,
        known: Option<Network>,
    ) -> Result<Bucket, GuessError> {
        self.count_in(Bucket::for_email(email, known)).await
    }

    /// Counts a guess at the second factor of a user who has shown their
    /// password, until something else is known of it.
    pub(crate) async fn count_factor(&self, user: UserId) -> Result<Bucket, GuessError> {
        self.count_in(Bucket(format!("second-factor:{user}"))).await
    }

    /// Returns whether no further guess is free of a wait.
    pub(crate) async fn are_used_up(&self, bucket: &Bucket) -> Result<bool, Unavailable> {
        Ok(self.ledger.failures(&bucket.0).await? >= self.rules.free)
    }

    async fn count_in(&self, bucket: Bucket) -> Result<Bucket, GuessError> {
        match self.ledger.count(&bucket.0, self.rules, self.clock.now()).await? {
            RateLimitOutcome::Allowed => Ok(bucket),
            RateLimitOutcome::Wait(wait) => {
                Err(GuessError::Wait(wait.min(self.rules.longest_wait)))
            }
        }
    }

    /// The guess was right, and those before are forgotten. That it fails
    /// fails nobody's sign-in.
    pub(crate) async fn right(&self, bucket: &Bucket) {
        report(self.ledger.clear(&bucket.0).await);
    }

    /// Forgets failed attempts after the owner has proved themselves in another way. A failure to
    /// do so is only logged.
    pub(crate) async fn forgive(&self, email: &str, device: &SignInDevice) {
        report(self.ledger.clear(&Bucket::for_email(email, None).0).await);
        if let Some(network) = device.network() {
            report(self.ledger.clear(&Bucket::for_email(email, Some(network)).0).await);
        }
    }

    /// Returns an attempt that no password check used.
    pub(crate) async fn unjudged(&self, bucket: &Bucket) {
        report(self.ledger.give_back(&bucket.0, self.rules).await);
    }
}

impl Bucket {
    fn for_email(email: &str, known: Option<Network>) -> Self {
        let mut hash = digest::Context::new(&digest::SHA256);
        hash.update(fold_email(email).as_bytes());
        if let Some(network) = known {
            // No address has a line break in it.
            hash.update(b"\n");
            hash.update(network.to_string().as_bytes());
        }
        Self(format!("sign-in:{}", URL_SAFE_NO_PAD.encode(hash.finish())))
    }
}

fn report(outcome: Result<(), Unavailable>) {
    if let Err(err) = outcome {
        tracing::warn!(
            error = &err as &dyn std::error::Error,
            "failed to reset the attempt counter after success"
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
    fn an_address_has_one_bucket_however_it_is_spelled_and_is_not_named_by_it() {
        let ada = Bucket::for_email("ada@example.org", None);

        assert_eq!(Bucket::for_email(" Ada@Example.org", None), ada);
        assert_ne!(Bucket::for_email("eve@example.org", None), ada);
        assert!(!ada.0.contains("ada"));
    }

    #[test]
    fn each_network_that_is_known_has_a_bucket_of_its_own() {
        let ada = |from| Bucket::for_email("ada@example.org", network(from));

        assert_ne!(ada("192.0.2.1"), Bucket::for_email("ada@example.org", None));
        assert_ne!(ada("192.0.2.1"), ada("192.0.2.2"));
        assert_eq!(ada("2001:db8:1:2::1"), ada("2001:db8:1:2:ffff::9"));
        assert_ne!(ada("2001:db8:1:2::1"), ada("2001:db8:1:3::1"));
        assert_eq!(ada("::ffff:192.0.2.1"), ada("192.0.2.1"));
    }
}
