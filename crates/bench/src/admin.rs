//! The benchmark of administration, from its programs to its report.

mod browser;
mod figures;
mod round;
mod seeding;

use std::io::Write;

use crate::contenders::{Server, server_program};
use crate::failure::Outcome;
use crate::installation::DATABASE_FILE;
use crate::measured::{self, Figures};
use crate::options::Options;
use crate::postgres::{OwnDatabase, Session};
use crate::{limits, machine, page, servers};
use browser::Browser;
use figures::Metric;
use round::Round;
use seeding::Size;

const READING: &str = "\
Requests go one after the other over one connection; each figure is the p99 of a round, of requests
from the administrator's browser with its cookie. The middle of a list is a page behind a cursor, or
before a time. Write transactions are counted by PostgreSQL's transaction ids over changes of a
setting, each of which writes an audit entry.
";

/// Number of rounds, and of requests for a figure.
#[derive(Debug, Clone, Copy)]
struct Plan {
    rounds: u32,
    requests: usize,
    size: Size,
    quick: bool,
}

impl Plan {
    fn of(options: &Options) -> Self {
        let plan = if options.quick {
            let size = Size { users: 500, entries: 5_000 };
            Self { rounds: 2, requests: 50, size, quick: true }
        } else {
            let size = Size { users: 10_000, entries: 1_000_000 };
            Self { rounds: 5, requests: 300, size, quick: false }
        };
        Self { rounds: options.rounds.unwrap_or(plan.rounds), ..plan }
    }
}

/// Runs the rounds, prints the report and writes it to a file if requested.
///
/// Fails on a wrong response, never because of a time.
pub fn admin(options: &Options) -> Outcome<()> {
    let (plan, program) = (Plan::of(options), server_program(options)?);
    let dir = tempfile::tempdir()?;
    // Declared before the servers, so that they end before it is dropped.
    let postgres = options.postgres_url.as_deref().map(OwnDatabase::create).transpose()?;
    let mut machine = machine::describe(dir.path());
    if let Some(database) = &postgres {
        machine.push(("PostgreSQL", database.describe()?));
    }
    let servers = servers::start(&program, postgres.as_ref(), dir.path())?;
    let mut figures = Figures::default();
    let mut browsers = Vec::new();
    for (place, (_, server)) in servers.iter().enumerate() {
        limits::admin(&program, &server.installation, &["grant", &browser::ADMIN])?;
        match &postgres {
            Some(database) if place == 1 => {
                seeding::postgres(&Session::open(&database.url)?, plan.size)?;
            }
            _ => seeding::sqlite(&server.installation.dir.join(DATABASE_FILE), plan.size)?,
        }
        browsers.push(Browser::sign_in(server.address)?);
    }
    for number in 1..=plan.rounds {
        drop(writeln!(std::io::stderr().lock(), "pia-bench: round {number} of {}", plan.rounds));
        for (place, browser) in browsers.iter().enumerate() {
            let transactions = postgres.as_ref().filter(|_| place == 1);
            let transactions = transactions.map(|it| Session::open(&it.url)).transpose()?;
            Round { plan: &plan, browser, figures: &mut figures, place }
                .run(transactions.as_ref())?;
        }
    }
    let report = render(&plan, &machine, &servers, &figures);
    std::io::stdout().lock().write_all(report.as_bytes())?;
    options.out.as_deref().map_or(Ok(()), |file| page::write(file, "admin", &report))
}

fn render(
    plan: &Plan,
    machine: &[(&'static str, String)],
    servers: &[(&'static str, Server)],
    figures: &Figures<Metric>,
) -> String {
    let Plan { rounds, size, quick, .. } = plan;
    let quick = if *quick { " **A quick run: a trial, not a result.**" } else { "" };
    let names: Vec<_> = servers.iter().map(|(name, _)| *name).collect();
    let parts = [
        format!(
            "## Administration\n\nMedians over {rounds} rounds, among {} users and {} audit entries.{quick}",
            size.users, size.entries
        ),
        figures.medians(&names).render(),
        READING.to_owned(),
        "### Aims of administration".to_owned(),
        figures.aims(&names).render(),
        measured::machine(machine).render(),
    ];
    parts.map(|it| it.trim_end().to_owned()).join("\n\n") + "\n"
}
