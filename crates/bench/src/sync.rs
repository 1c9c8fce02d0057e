//! Benchmark of syncing devices: starts the servers, runs the rounds, prints
//! the report.
//!
//! Every server is first seeded over its own API (`seeding`), then `raw` copies
//! the rows to further users in the database, without pushes. Each round runs on
//! every server in turn, so that a slow phase of the machine affects all of them.

mod contender;
mod figures;
mod items;
mod person;
mod pgbench;
mod postgres;
mod raw;
mod report;
mod round;
mod seeding;
mod sqlite;
mod statements;

use std::time::Duration;

use crate::failure::Outcome;
use crate::measured::Figures;
use crate::options::Options;
use crate::servers::{Servers, log_progress, publish};
use contender::Contender;
use figures::Metric;
use report::Report;
use round::Round;

/// Size of the loads, and numbers of rounds and users.
#[derive(Debug, Clone, Copy)]
struct Plan {
    rounds: u32,
    /// Duration of each load. The same rows are read without a server for half
    /// of it before, and again after.
    load: Duration,
    /// Number of pushes in a round.
    pushes: usize,
    /// Number of pulls of a few changes in a round.
    pulls: u32,
    /// Number of full pulls in a round.
    walks: u32,
    /// Number of users with many items in the database.
    users: u32,
    quick: bool,
}

impl Plan {
    fn from_options(options: &Options) -> Self {
        let plan = if options.quick {
            let load = Duration::from_millis(300);
            Self { rounds: 2, load, pushes: 2, pulls: 20, walks: 1, users: 5, quick: true }
        } else {
            let load = Duration::from_secs(4);
            Self { rounds: 5, load, pushes: 20, pulls: 300, walks: 5, users: 50, quick: false }
        };
        let rounds = options.rounds.unwrap_or(plan.rounds);
        Self { rounds, users: options.users.unwrap_or(plan.users), ..plan }
    }
}

/// Runs the rounds, prints the report and writes it to the configured file.
///
/// Fails if a server sends a wrong response, but not if it is slow.
pub fn sync(options: &Options) -> Outcome<()> {
    let plan = Plan::from_options(options);
    let servers = Servers::start(options)?;
    let mut figures: Figures<Metric> = Figures::default();
    let mut contenders = Vec::new();
    for (index, (name, server)) in servers.list.iter().enumerate() {
        log_progress(&format!(
            "seeding {} users with {} items each: {name}",
            plan.users,
            seeding::MANY
        ));
        figures.record(index, Metric::Before, server.process.resident()?);
        let url = servers.postgres_url(index);
        let prepared = Contender::prepare(server, url, options.postgres_log.as_deref(), plan.users);
        contenders.push((name, prepared.map_err(|err| format!("{name}: {err}"))?));
        figures.record(index, Metric::Seeded, server.process.resident()?);
    }

    for number in 1..=plan.rounds {
        log_progress(&format!("round {number} of {}", plan.rounds));
        for (index, (name, contender)) in contenders.iter_mut().enumerate() {
            let with_name = |err| format!("{name}: {err}");
            Round { plan: &plan, number, index, figures: &mut figures }
                .run(contender)
                .map_err(with_name)?;
        }
    }

    let machine = &servers.machine;
    let names = servers.names();
    let report = Report { plan: &plan, machine, servers: &names, figures: &figures };

    publish(options, "sync", &report.render())
}
