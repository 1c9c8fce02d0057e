//! Renewal of a pod's token before it ends.
//!
//! 1. Within 30 days of the end, `Session::renew` requests another token. The server
//!    issues it, and lets the previous one end within a day.
//! 2. `Session::finish_renewal` has it stored by `Renewal::save`. Later connections
//!    present it only then, so that the stored token is valid after a crash.
//! 3. If storing fails, the token waits here as unsaved. `Session::renew` stores it each
//!    hour instead of requesting another one.
//! 4. If the server refuses the previous token meanwhile, `Pod::run` continues with the
//!    unsaved one, which `Renewal::take_over` returns once.

use std::error::Error;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use pia_kernel::{Clock, Secret, SystemClock, Timestamp};
use tokio::time::{Instant, timeout};

use crate::messages::NewToken;

/// Time before the end of a token at which another one is requested.
const RENEWAL_PERIOD: Duration = Duration::from_hours(30 * 24);
/// Time until a renewal that failed is tried again.
pub(crate) const RETRY_DELAY: Duration = Duration::from_hours(1);
/// Maximum time until a renewal, which timers can wait for.
const MAX_DELAY: Duration = Duration::from_hours(365 * 24);
/// Time for storing a token. The connection is not served meanwhile.
const STORING_TIMEOUT: Duration = Duration::from_secs(10);

/// Store of the token that a pod begins with.
#[async_trait]
pub trait TokenStore: Send + Sync + 'static {
    /// Replaces the stored token, so that the new one outlasts a crash: the previous
    /// one ends within a day.
    async fn store(&self, token: &Secret<String>) -> Result<(), Box<dyn Error + Send + Sync>>;
}

/// Renewal of the token of a pod.
#[derive(Default)]
pub(crate) struct Renewal {
    store: Option<Box<dyn TokenStore>>,
    unsaved: Mutex<Option<UnsavedToken>>,
}

/// Token that could not be stored. A pod that restarts has the previous one.
#[derive(Debug, Clone)]
struct UnsavedToken {
    token: NewToken,
    /// True once connections present it. If it is refused too, the pod ends.
    is_used: bool,
}

impl Renewal {
    /// Creates the renewal of a pod whose tokens are stored.
    pub(crate) fn new(store: impl TokenStore) -> Self {
        Self { store: Some(Box::new(store)), unsaved: Mutex::default() }
    }

    /// Returns the time when a token with this end is to be renewed; `None` if
    /// tokens are not stored.
    pub(crate) fn due(&self, expires_at: Timestamp) -> Option<Instant> {
        let micros = expires_at.micros().saturating_sub(SystemClock.now().micros());
        let remaining = Duration::from_micros(u64::try_from(micros).unwrap_or(0));
        let delay = remaining.saturating_sub(RENEWAL_PERIOD).min(MAX_DELAY);
        if self.store.is_none() {
            if delay.is_zero() {
                tracing::warn!(%expires_at, "the token ends soon, and no other can be stored");
            }
            return None;
        }
        let is_unsaved = self.unsaved.lock().is_some();
        Some(Instant::now() + if is_unsaved { Duration::ZERO } else { delay })
    }

    /// Returns the token that could not be stored.
    pub(crate) fn unsaved(&self) -> Option<NewToken> {
        self.unsaved.lock().as_ref().map(|it| it.token.clone())
    }

    /// Returns the token that could not be stored, for use instead of the refused one;
    /// `None` if it is in use already.
    pub(crate) fn take_over(&self) -> Option<NewToken> {
        let mut unsaved = self.unsaved.lock();
        let unused = unsaved.as_mut().filter(|it| !it.is_used)?;
        unused.is_used = true;
        Some(unused.token.clone())
    }

    /// Stores a token. Returns whether it may be used from now on.
    pub(crate) async fn save(&self, token: NewToken) -> bool {
        let Some(store) = &self.store else { return false };

        let outcome = store_in_time(store.as_ref(), &token.token).await;
        match outcome {
            Ok(()) => {
                tracing::info!(expires_at = %token.expires_at, "the token was renewed");
                *self.unsaved.lock() = None;
                true
            }
            Err(error) => {
                tracing::error!(
                    %error, retry_in = ?RETRY_DELAY,
                    "the new token could not be stored; the previous one ends within a day",
                );
                let mut unsaved = self.unsaved.lock();
                let is_used = unsaved.as_ref().is_some_and(|it| it.is_used);
                *unsaved = Some(UnsavedToken { token, is_used });
                false
            }
        }
    }
}

async fn store_in_time(
    store: &dyn TokenStore,
    token: &Secret<String>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let outcome = timeout(STORING_TIMEOUT, store.store(token)).await;
    outcome.unwrap_or_else(|_elapsed| Err("it took too long".into()))
}
