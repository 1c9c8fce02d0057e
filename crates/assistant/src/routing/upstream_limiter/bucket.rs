//! Token bucket: an allowance per minute.

use std::time::Duration;

const MINUTE: f64 = 60.0;

/// A bucket that is full at first and fills up within a minute. It may be
/// overdrawn, by what turned out to be more than was requested.
#[derive(Debug, Default)]
pub(super) struct Bucket {
    /// Fill level, and its time; nothing where it was never used.
    level: Option<(f64, Duration)>,
}

impl Bucket {
    /// Returns the time until so much can be taken from a bucket of this size;
    /// nothing if it can be now. More than it ever holds waits until it is
    /// full.
    pub(super) fn wait_time(&mut self, much: i64, size: u32, now: Duration) -> Option<Duration> {
        let size = f64::from(size);
        let level = match self.level {
            None => size,
            Some((level, at)) => {
                let filled = now.saturating_sub(at).as_secs_f64() * size / MINUTE;
                (level + filled).min(size)
            }
        };
        self.level = Some((level, now));
        let lacking = number(much).min(size) - level;
        let epsilon = size * 1e-9;
        (lacking > epsilon).then(|| Duration::from_secs_f64(lacking * MINUTE / size))
    }

    /// Takes so much; what is negative goes back.
    pub(super) fn take(&mut self, much: i64) {
        if let Some((level, _)) = &mut self.level {
            *level -= number(much);
        }
    }
}

/// Counts of tokens are far below where this loses anything.
fn number(much: i64) -> f64 {
    let bounded = much.clamp(-2_000_000_000, 2_000_000_000);
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
    fn it_fills_up_within_a_minute() {
        let mut bucket = Bucket::default();
        assert_eq!(bucket.wait_time(60, 60, START), None);
        bucket.take(60);

        assert_eq!(bucket.wait_time(1, 60, START), Some(Duration::from_secs(1)));
        assert_eq!(bucket.wait_time(30, 60, after(30)), None);
        assert_eq!(bucket.wait_time(61, 60, after(90)), None);
    }

    #[test]
    fn it_may_be_overdrawn_and_be_returned() {
        let mut bucket = Bucket::default();
        bucket.wait_time(1, 60, START);
        bucket.take(120);
        assert_eq!(bucket.wait_time(1, 60, START), Some(Duration::from_secs(61)));

        bucket.take(-90);
        assert_eq!(bucket.wait_time(30, 60, START), None);
    }
}
