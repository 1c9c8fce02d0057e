//! Token bucket: an allowance per minute.

use std::time::Duration;

const MINUTE: f64 = 60.0;

/// Token bucket that is full at first and refills within a minute. It may be
/// overdrawn if a call uses more than was taken for it.
#[derive(Debug, Default)]
pub(super) struct Bucket {
    /// Fill level; `None` before the first use.
    level: Option<FillLevel>,
}

#[derive(Debug, Clone, Copy)]
struct FillLevel {
    amount: f64,
    /// Time as of which the bucket has this amount.
    at: Duration,
}

impl Bucket {
    /// Returns the time until an amount can be taken from a bucket of this
    /// size, or `None` if it can be taken now. An amount beyond the size waits
    /// until the bucket is full.
    pub(super) fn wait_time(&mut self, amount: i64, size: u32, now: Duration) -> Option<Duration> {
        let size = f64::from(size);
        let amount_now = match self.level {
            None => size,
            Some(level) => {
                let refill = now.saturating_sub(level.at).as_secs_f64() * size / MINUTE;
                (level.amount + refill).min(size)
            }
        };
        self.level = Some(FillLevel { amount: amount_now, at: now });
        let missing_amount = number(amount).min(size) - amount_now;
        // Rounding of a refill must not cause another wait.
        let epsilon = size * 1e-9;

        (missing_amount > epsilon).then(|| Duration::from_secs_f64(missing_amount * MINUTE / size))
    }

    /// Takes an amount; a negative one is returned to the bucket. Changes nothing
    /// before the first `wait_time`, which fills the bucket.
    pub(super) fn take(&mut self, amount: i64) {
        if let Some(level) = &mut self.level {
            level.amount -= number(amount);
        }
    }
}

/// Converts a token count, which is far below the limit of exactness.
fn number(amount: i64) -> f64 {
    let bounded = amount.clamp(-2_000_000_000, 2_000_000_000);
    i32::try_from(bounded).map_or(0.0, f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(1000);

    fn after(seconds: u64) -> Duration {
        START + Duration::from_secs(seconds)
    }

    #[test]
    fn it_refills_within_a_minute() {
        let mut bucket = Bucket::default();
        assert_eq!(bucket.wait_time(60, 60, START), None);
        bucket.take(60);

        assert_eq!(bucket.wait_time(1, 60, START), Some(Duration::from_secs(1)));
        assert_eq!(bucket.wait_time(30, 60, after(30)), None);
        assert_eq!(bucket.wait_time(61, 60, after(90)), None);
    }

    #[test]
    fn it_may_be_overdrawn_and_refunded() {
        let mut bucket = Bucket::default();
        bucket.wait_time(1, 60, START);
        bucket.take(120);
        assert_eq!(bucket.wait_time(1, 60, START), Some(Duration::from_secs(61)));

        bucket.take(-90);
        assert_eq!(bucket.wait_time(30, 60, START), None);
    }
}
