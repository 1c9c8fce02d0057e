//! Benchmark of signing in: starts the servers, runs the rounds, prints the
//! report.

mod figures;
mod hashes;
mod refreshes;
mod report;
mod round;

use std::io::Write;
use std::time::Duration;

use crate::contenders::server_program;
use crate::failure::Outcome;
use crate::measured::Figures;
use crate::options::Options;
use crate::postgres::OwnDatabase;
use crate::{machine, page, servers};
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
    let (plan, program) = (Plan::from_options(options), server_program(options)?);
    let dir = tempfile::tempdir()?;
    // Declared before the servers, so that they end before the database is
    // dropped.
    let postgres = options.postgres_url.as_deref().map(OwnDatabase::create).transpose()?;
    let mut machine = machine::describe(dir.path());
    if let Some(database) = &postgres {
        machine.push(("PostgreSQL", database.describe()?));
    }
    let servers = servers::start(&program, postgres.as_ref(), dir.path())?;
    let mut figures = Figures::default();
    let mut rejected = 0;
    for number in 1..=plan.rounds {
        drop(writeln!(std::io::stderr().lock(), "pia-bench: round {number} of {}", plan.rounds));
        rejected += Round { plan: &plan, servers: &servers, figures: &mut figures }.run()?;
    }
    let names: Vec<_> = servers.iter().map(|(name, _)| *name).collect();
    let report = Report { plan: &plan, machine: &machine, servers: &names, figures: &figures };
    let report = report.render(rejected);
    std::io::stdout().lock().write_all(report.as_bytes())?;
    options.out.as_deref().map_or(Ok(()), |file| page::write(file, "identity", &report))
}
