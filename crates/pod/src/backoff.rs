//! Delays between attempts to connect: exponential back-off with equal jitter.
//! The session resets it when the server has answered the hello, not when the
//! connection is open: connections that fail before delay the next ones further.

use std::time::Duration;

use pia_kernel::random_bytes;

const MIN_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_secs(30);

/// Delay before the next attempt, which doubles with each.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
}

impl Backoff {
    /// Creates the back-off of a pod that has not failed yet.
    pub(crate) fn new() -> Self {
        Self { next: MIN_DELAY }
    }

    /// Starts again, after a success.
    pub(crate) fn reset(&mut self) {
        *self = Self::new();
    }

    /// Returns the delay before the next attempt: between half and all of it,
    /// so that pods that lost a server together do not return together.
    pub(crate) fn next_delay(&mut self) -> Duration {
        let half = self.next / 2;
        self.next = (self.next * 2).min(MAX_DELAY);
        let jitter = random_bytes().map_or(u8::MAX, |[byte]| byte);
        half + half * u32::from(jitter) / u32::from(u8::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_half_a_minute() {
        let mut backoff = Backoff::new();

        for seconds in [1, 2, 4, 8, 16, 30, 30] {
            let delay = backoff.next_delay();
            let longest = Duration::from_secs(seconds);
            assert!((longest / 2..=longest).contains(&delay), "{delay:?} of {longest:?}");
        }
        backoff.reset();
        assert!(backoff.next_delay() <= MIN_DELAY);
    }
}
