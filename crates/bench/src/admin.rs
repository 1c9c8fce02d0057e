//! The benchmark of administration, from its programs to its report.
//!
//! `seeding` fills the tables directly; then `round.rs` requests every list of each
//! server and counts the transactions of a change.

mod browser;
mod figures;
mod round;
mod seeding;

use crate::failure::Outcome;
use crate::installation::DATABASE_FILE;
use crate::limits;
use crate::measured::{self, Figures};
use crate::options::Options;
use crate::postgres::Session;
use crate::servers::{Servers, log_progress, publish};
use browser::Browser;
use figures::Metric;
use round::Round;
use seeding::Size;

const READING: &str = "\
Requests go one after the other over one connection; each figure is the p99 of a round, of requests
from an administrator's browser with its cookie. The middle of a list is a page behind a cursor, or
before a time. Write transactions are counted by PostgreSQL's transaction ids over changes of a
setting, each of which writes an audit entry; so nothing else may use the database server meanwhile.
The slowest page is that of all that the navigation of the console and of the account links, one below
each of them, such as that of a user, and searches, as HTML, for an administrator.
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
    fn from_options(options: &Options) -> Self {
        let plan = if options.quick {
            let size = Size { users: 500, entries: 5_000, calls: 5_000 };
            Self { rounds: 2, requests: 50, size, quick: true }
        } else {
            let size = Size { users: 10_000, entries: 1_000_000, calls: 1_000_000 };
            Self { rounds: 5, requests: 300, size, quick: false }
        };
        Self { rounds: options.rounds.unwrap_or(plan.rounds), ..plan }
    }
}

/// Runs the rounds, prints the report and writes it to a file if requested.
///
/// Fails on a wrong response, never because of a time.
pub fn admin(options: &Options) -> Outcome<()> {
    let plan = Plan::from_options(options);
    let servers = Servers::start(options)?;
    let mut figures = Figures::default();
    let mut browsers = Vec::new();
    for (index, (name, server)) in servers.list.iter().enumerate() {
        log_progress(&format!("seeding {name}"));
        limits::admin(&servers.program, &server.installation, &["grant", &browser::ADMIN])?;
        match servers.postgres_url(index) {
            Some(url) => seeding::postgres(&Session::open(url)?, plan.size)?,
            None => seeding::sqlite(&server.installation.dir.join(DATABASE_FILE), plan.size)?,
        }
        browsers.push(Browser::sign_in(server.address)?);
    }

    for number in 1..=plan.rounds {
        log_progress(&format!("round {number} of {}", plan.rounds));
        for (index, browser) in browsers.iter().enumerate() {
            let transactions = servers.postgres_url(index).map(Session::open).transpose()?;
            Round { plan: &plan, browser, figures: &mut figures, place: index }
                .run(transactions.as_ref())?;
        }
    }

    publish(options, "admin", &render(&plan, &servers, &figures))
}

fn render(plan: &Plan, servers: &Servers, figures: &Figures<Metric>) -> String {
    let Plan { rounds, size, quick, .. } = plan;
    let remark = if *quick { " **A quick run: a trial, not a result.**" } else { "" };
    let names = servers.names();
    let parts = [
        format!(
            "## Administration\n\nMedians over {rounds} rounds, among {} users, {} audit entries and {} AI calls.{remark}",
            size.users, size.entries, size.calls
        ),
        figures.medians(&names).render(),
        READING.to_owned(),
        "### Aims of administration".to_owned(),
        figures.aims(&names).render(),
        measured::machine(&servers.machine).render(),
    ];

    parts.map(|it| it.trim_end().to_owned()).join("\n\n") + "\n"
}
