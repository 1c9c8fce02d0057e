//! Retry settings of the outbox sender.
//!
//! The schedule is exponential back-off: `first_retry_delay`, doubled with
//! each failure up to `max_retry_delay`, and shortened by up to a quarter
//! (`spread`).

use std::time::Duration;

use pia_kernel::{MailId, Timestamp};

use crate::ClaimToken;

/// Retry schedule and time limits of an email.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutboxSenderSettings {
    /// Duration of a claim. It must exceed the time that a delivery can take,
    /// or another server would send the email too.
    pub claim: Duration,
    /// Delay after the first failure; it doubles with each further one.
    pub first_retry_delay: Duration,
    /// Maximum delay between two attempts.
    pub max_retry_delay: Duration,
    /// Maximum time for which delivery is attempted.
    pub max_delivery_time: Duration,
    /// Retention period of abandoned emails.
    pub failed_retention: Duration,
}

impl Default for OutboxSenderSettings {
    fn default() -> Self {
        Self {
            claim: Duration::from_mins(5),
            first_retry_delay: Duration::from_mins(1),
            max_retry_delay: Duration::from_hours(1),
            max_delivery_time: Duration::from_hours(3 * 24),
            failed_retention: Duration::from_hours(30 * 24),
        }
    }
}

impl OutboxSenderSettings {
    /// Returns the time of the next attempt after a failure now; `None` if that
    /// would be after the maximum delivery time or after the email has lost its
    /// use.
    pub(crate) fn next_try(
        &self,
        claim: ClaimToken,
        lifetime: Option<Duration>,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let factor = 1_u32.checked_shl(claim.tries.saturating_sub(1)).filter(|it| *it > 0);
        let pause = factor
            .and_then(|it| self.first_retry_delay.checked_mul(it))
            .unwrap_or(self.max_retry_delay)
            .min(self.max_retry_delay);
        let next = now + spread(pause, claim.mail, claim.tries);
        let last = claim.queued_at
            + lifetime.unwrap_or(self.max_delivery_time).min(self.max_delivery_time);
        (next < last).then_some(next)
    }
}

/// Shortens a pause by up to a quarter, differently for each email and attempt,
/// so that emails that failed together are not retried together. The email's id
/// is the source of randomness.
fn spread(pause: Duration, mail: MailId, tries: u32) -> Duration {
    const STEPS: u32 = 1024;
    // An odd factor leaves ids evenly distributed over the steps.
    let chance = mail.0.as_u128().wrapping_mul(2 * u128::from(tries) + 1) % u128::from(STEPS);
    let share = u32::try_from(chance).unwrap_or_default();
    pause.saturating_sub(pause / (4 * STEPS) * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::UNIX_EPOCH;

    fn claim(tries: u32) -> ClaimToken {
        ClaimToken { mail: MailId::generate(), tries, queued_at: START }
    }

    fn pause_after(tries: u32) -> Duration {
        let next = OutboxSenderSettings::default().next_try(claim(tries), None, START).unwrap();
        Duration::from_micros(next.micros().try_into().unwrap())
    }

    #[test]
    fn pauses_double_from_a_minute_to_an_hour() {
        for (tries, minutes) in [(0, 1), (1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (90, 60)] {
            let max = Duration::from_mins(minutes);

            for _ in 0..100 {
                let pause = pause_after(tries);
                assert!(pause <= max && pause >= max * 3 / 4, "{tries}: {pause:?}");
            }
        }
    }

    #[test]
    fn emails_that_failed_together_are_not_retried_together() {
        let mut pauses: Vec<_> = (0..100).map(|_| pause_after(7)).collect();

        pauses.sort_unstable();
        pauses.dedup();

        assert!(pauses.len() > 80, "{}", pauses.len());
    }

    #[test]
    fn no_email_is_retried_after_its_lifetime() {
        let settings = OutboxSenderSettings::default();
        let day = Duration::from_hours(24);
        let mail = claim(20);
        let links = Some(Duration::from_hours(2));

        assert!(settings.next_try(mail, None, START + day * 2).is_some());
        assert_eq!(settings.next_try(mail, None, START + day * 3), None);
        assert!(settings.next_try(mail, links, START + Duration::from_mins(30)).is_some());
        assert_eq!(settings.next_try(mail, links, START + Duration::from_mins(80)), None);
        assert_eq!(settings.next_try(mail, Some(day * 9), START + day * 3), None);
    }
}
