//! Duration of each load of a round.

use std::time::Duration;

use crate::options::Options;

/// Size of the loads, and number of rounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) rounds: u32,
    /// Duration of the load of 100 requests a second, for each contender.
    pub(crate) slow: Duration,
    /// Duration of the load of 1000 requests a second.
    pub(crate) fast: Duration,
    /// Duration of the closed-loop load on 32 connections.
    pub(crate) full: Duration,
    /// Number of requested streams.
    pub(crate) streams: u32,
    /// Number of concurrent sign-ins.
    pub(crate) sign_ins: usize,
    /// Duration for which readers stall; measured once.
    pub(crate) still_for: Duration,
    /// Set if the loads are short and the figures are not for publication.
    pub(crate) quick: bool,
}

impl Plan {
    pub(crate) fn from_options(options: &Options) -> Self {
        let plan = if options.quick { Self::QUICK } else { Self::FULL };
        Self { rounds: options.rounds.unwrap_or(plan.rounds), ..plan }
    }

    const FULL: Self = Self {
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
