//! The benchmark of assignments, from their rows to its report.
//!
//! No server is started: `plane.rs` assembles the use cases of an instance in this
//! process, and `round.rs` measures them beside the commits of the same database.

mod figures;
mod peers;
mod plane;
mod round;
mod seeding;

use tokio::runtime::Runtime;

use crate::failure::Outcome;
use crate::measured::{self, Figures};
use crate::options::Options;
use crate::postgres::OwnDatabase;
use crate::servers::{log_progress, publish};
use crate::{database, machine};
use figures::Metric;
use plane::Plane;
use round::Round;

const READING: &str = "\
Runs are those of the skill `brief`, three steps of a model that answers at once, twenty of each user.
They are handed over, claimed and advanced in the process of the benchmark, by four workers at a time, as an instance does
with the embedded engine. A commit is the update of one row of its own by each worker, so that
\"commits/s\" is the limit of the same database in the same round. Commits of a step are counted by
PostgreSQL's transaction ids. The first event is `started`, read when its claim has returned; another
instance is woken by a notification of the database. DBOS runs up to a thousand workflows of
three steps that return a text at once, handed over before, by a process of four workers on the same
PostgreSQL. Restate runs as many, four at a time, by a process of Node.js; its server stores them in
files of its own, whatever its column. Lists have 50 assignments of a user who has more than a thousand, or of all users.
";

/// Number of runs of a user that wait at once.
const RUNS_OF_USER: usize = 20;

/// Maximum number of runs of a peer, which is slower.
const MAX_PEER_RUNS: usize = 1_000;

/// Size of the loads, and number of rounds.
#[derive(Debug, Clone, Copy)]
struct Plan {
    rounds: u32,
    /// Ended assignments in the database.
    rows: usize,
    /// Number of runs that wait at once.
    runs: usize,
    /// Number of requests for a figure.
    requests: usize,
    quick: bool,
}

impl Plan {
    fn from_options(options: &Options) -> Self {
        let plan = if options.quick {
            Self { rounds: 2, rows: 10_000, runs: 200, requests: 50, quick: true }
        } else {
            Self { rounds: 3, rows: 1_000_000, runs: 10_000, requests: 300, quick: false }
        };
        Self { rounds: options.rounds.unwrap_or(plan.rounds), ..plan }
    }
}

/// Runs the rounds, prints the report and writes it to a file if requested.
///
/// Fails if a run does not complete, never because of a time.
pub fn assignments(options: &Options) -> Outcome<()> {
    let plan = Plan::from_options(options);
    let dir = tempfile::tempdir()?;
    let postgres = options.postgres_url.as_deref().map(OwnDatabase::create).transpose()?;
    let mut facts = machine::describe(dir.path());
    let mut urls = vec![("SQLite", None)];
    if let Some(own) = &postgres {
        facts.push(("PostgreSQL", own.describe()?));
        urls.push(("PostgreSQL", Some(own.url.as_str())));
    }

    let runtime = Runtime::new()?;
    let mut figures = Figures::default();
    let last = urls.len() - 1;

    for (place, (name, url)) in urls.iter().enumerate() {
        log_progress(&format!("seeding {name}"));
        let db = runtime.block_on(database::open(dir.path(), *url))?;
        let plane = runtime.block_on(Plane::create(&db, plan.runs / RUNS_OF_USER))?;
        seeding::seed(dir.path(), *url, plan.rows, plane.users.len())?;
        runtime.block_on(plane.extend_lease())?;
        let alive = runtime.spawn(plane.clone().stay_alive());

        for number in 1..=plan.rounds {
            log_progress(&format!("{name}, round {number} of {}", plan.rounds));
            let round = Round { plan: &plan, plane: &plane, runtime: &runtime, place };
            round.run(*url, &mut figures)?;
            let record = |metric, value| figures.record(place, metric, value);
            measure_peers(options, plan, url.is_some(), place == last, record)?;
        }

        alive.abort();
    }

    let names: Vec<_> = urls.iter().map(|it| it.0).collect();

    publish(options, "assignments", &render(&plan, &names, &facts, &figures))
}

/// Measures the peers that are configured: DBOS beside the server on PostgreSQL, and
/// Restate beside the last server.
fn measure_peers(
    options: &Options,
    plan: Plan,
    is_postgres: bool,
    is_last: bool,
    mut record: impl FnMut(Metric, f64),
) -> Outcome<()> {
    let runs = plan.runs.min(MAX_PEER_RUNS);
    let dbos = options.dbos.as_deref().zip(options.postgres_url.as_deref());
    if is_postgres && let Some((python, cluster)) = dbos {
        let rate = peers::dbos_runs_per_second(python, cluster, runs, plane::WORKERS)?;
        record(Metric::DbosRuns, rate);
    }

    if is_last && let Some(packages) = options.restate.as_deref() {
        record(
            Metric::RestateRuns,
            peers::restate_runs_per_second(packages, runs, plane::WORKERS)?,
        );
    }

    Ok(())
}

fn render(
    plan: &Plan,
    names: &[&str],
    facts: &[(&'static str, String)],
    figures: &Figures<Metric>,
) -> String {
    let Plan { rounds, rows, runs, requests, quick } = plan;
    let remark = if *quick { " **A quick run: a trial, not a result.**" } else { "" };
    let parts = [
        format!(
            "## Assignments\n\nMedians over {rounds} rounds of {runs} runs and {requests} requests, \
            among {rows} assignments.{remark}"
        ),
        figures.medians(names).render(),
        READING.to_owned(),
        "### Aims of assignments".to_owned(),
        figures.aims_by("Database", names).render(),
        measured::machine(facts).render(),
    ];

    parts.map(|it| it.trim_end().to_owned()).join("\n\n") + "\n"
}
