//! Retry settings of the outbox sender.

use std::time::Duration;

use pia_kernel::{MailId, Timestamp};

use crate::ClaimToken;

/// Retry schedule and time limits of an email.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutboxSenderSettings {
    /// For how long a mail is ours once we claimed it. Longer than handing it
    /// over can take, or somebody else would send it too.
    pub claim: Duration,
    /// Delay after the first failure; it doubles with each further one.
    pub first_retry_delay: Duration,
    /// The longest that it waits between two tries.
    pub max_retry_delay: Duration,
    /// For how long a mail is tried at all.
    pub patience: Duration,
    /// For how long it is stored why a mail was given up.
    pub keep_failed: Duration,
}

impl Default for OutboxSenderSettings {
    fn default() -> Self {
        Self {
            claim: Duration::from_mins(5),
            first_retry_delay: Duration::from_mins(1),
            max_retry_delay: Duration::from_hours(1),
            patience: Duration::from_hours(3 * 24),
            keep_failed: Duration::from_hours(30 * 24),
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
        worth: Option<Duration>,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let doubled = 1_u32.checked_shl(claim.tries.saturating_sub(1)).filter(|it| *it > 0);
        let pause = doubled.and_then(|it| self.first_retry_delay.checked_mul(it));
        let pause = pause.unwrap_or(self.max_retry_delay).min(self.max_retry_delay);
        let next = now + spread(pause, claim.mail, claim.tries);
        let last = claim.queued_at + worth.unwrap_or(self.patience).min(self.patience);
        (next < last).then_some(next)
    }
}

/// A pause made shorter by up to a quarter, for each mail and try otherwise:
/// what failed at once must not come back at once. Chance is taken from the
/// mail's id, most of which is nothing else.
fn spread(pause: Duration, mail: MailId, tries: u32) -> Duration {
    const QUARTERS: u32 = 1024;
    let chance = mail.0.as_u128().wrapping_mul(2 * u128::from(tries) + 1) % u128::from(QUARTERS);
    let shorter = u32::try_from(chance).unwrap_or_default();
    pause.saturating_sub(pause / (4 * QUARTERS) * shorter)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::UNIX_EPOCH;

    fn claim(tries: u32) -> ClaimToken {
        ClaimToken { mail: MailId::generate(), tries, queued_at: START }
    }

    fn pause(tries: u32) -> Duration {
        let next = OutboxSenderSettings::default().next_try(claim(tries), None, START).unwrap();
        Duration::from_micros(next.micros().try_into().unwrap())
    }

    #[test]
    fn pauses_double_from_a_minute_to_an_hour() {
        for (tries, minutes) in [(0, 1), (1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (90, 60)] {
            let max = Duration::from_mins(minutes);

            for _ in 0..100 {
                let pause = pause(tries);
                assert!(pause <= max && pause >= max * 3 / 4, "{tries}: {pause:?}");
            }
        }
    }

    #[test]
    fn mails_that_failed_at_once_come_back_one_after_the_other() {
        let mut pauses: Vec<_> = (0..100).map(|_| pause(7)).collect();

        pauses.sort_unstable();
        pauses.dedup();

        assert!(pauses.len() > 80, "{}", pauses.len());
    }

    #[test]
    fn no_mail_is_tried_for_longer_than_it_is_worth() {
        let settings = OutboxSenderSettings::default();
        let (day, mail) = (Duration::from_hours(24), claim(20));
        let links = Some(Duration::from_hours(2));

        assert!(settings.next_try(mail, None, START + day * 2).is_some());
        assert_eq!(settings.next_try(mail, None, START + day * 3), None);
        assert!(settings.next_try(mail, links, START + Duration::from_mins(30)).is_some());
        assert_eq!(settings.next_try(mail, links, START + Duration::from_mins(80)), None);
        assert_eq!(settings.next_try(mail, Some(day * 9), START + day * 3), None);
    }
}
