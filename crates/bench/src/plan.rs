//! How long each load of a round lasts.

use std::time::Duration;

use crate::options::Options;

/// The loads of a round, and how many rounds there are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) rounds: u32,
    /// How long 100 requests a second are sent, to each contender.
    pub(crate) slow: Duration,
    /// How long 1000 requests a second are sent.
    pub(crate) fast: Duration,
    /// How long 32 connections send as fast as they are answered.
    pub(crate) full: Duration,
    /// How many streams are asked for.
    pub(crate) streams: u32,
    /// How many sign-ins are asked for at once.
    pub(crate) sign_ins: usize,
    /// How long readers stand still, once.
    pub(crate) still_for: Duration,
    /// Whether the figures are good for more than a trial.
    pub(crate) quick: bool,
}

impl Plan {
    pub(crate) fn of(options: &Options) -> Self {
        let plan = if options.quick { Self::QUICK } else { Self::WHOLE };
        Self { rounds: options.rounds.unwrap_or(plan.rounds), ..plan }
    }

    const WHOLE: Self = Self {
        rounds: 10,
        slow: Duration::from_secs(2),
        fast: Duration::from_millis(1500),
        full: Duration::from_secs(1),
        streams: 60,
        sign_ins: 200,
        still_for: Duration::from_secs(10),
        quick: false,
    };

    const QUICK: Self = Self {
        rounds: 2,
        slow: Duration::from_millis(300),
        fast: Duration::from_millis(300),
        full: Duration::from_millis(300),
        streams: 10,
        sign_ins: 20,
        still_for: Duration::from_secs(1),
        quick: true,
    };
}
