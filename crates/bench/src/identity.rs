//! Benchmark of signing in: starts the servers, runs the rounds, prints the
//! report.

mod figures;
mod hashes;
mod refreshes;
mod report;
mod round;

use std::time::Duration;

use crate::failure::Outcome;
use crate::measured::Figures;
use crate::options::Options;
use crate::servers::{Servers, log_progress, publish};
use report::Report;
use round::Round;

/// Size of the loads, and number of rounds.
#[derive(Debug, Clone, Copy)]
struct Plan {
    rounds: u32,
    /// Duration of each load: password hashing, sign-ins and token refreshes.
    load: Duration,
    /// Number of concurrent sign-ins.
    storm: usize,
    quick: bool,
}

impl Plan {
    fn from_options(options: &Options) -> Self {
        let plan = if options.quick {
            Self { rounds: 2, load: Duration::from_millis(500), storm: 50, quick: true }
        } else {
            Self { rounds: 5, load: Duration::from_secs(4), storm: 500, quick: false }
        };
        Self { rounds: options.rounds.unwrap_or(plan.rounds), ..plan }
    }
}

/// Runs the rounds, prints the report and writes it to the configured file.
///
/// Fails if a server sends a wrong response, but not if it is slow.
pub fn identity(options: &Options) -> Outcome<()> {
    let plan = Plan::from_options(options);
    let servers = Servers::start(options)?;
    let mut figures = Figures::default();
    let mut rejected = 0;
    for number in 1..=plan.rounds {
        log_progress(&format!("round {number} of {}", plan.rounds));
        rejected += Round { plan: &plan, servers: &servers.list, figures: &mut figures }.run()?;
    }

    let machine = &servers.machine;
    let names = servers.names();
    let report = Report { plan: &plan, machine, servers: &names, figures: &figures };

    publish(options, "identity", &report.render(rejected))
}
