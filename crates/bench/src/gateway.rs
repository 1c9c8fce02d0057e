//! Benchmark of the gateway: starts the programs, runs the rounds, prints the
//! report.
//!
//! The memory of streams is measured first, in contenders of their own, since an
//! allocator keeps what earlier loads took. The rounds then run all loads on one set
//! of contenders (`round.rs`).

use std::time::Duration;

use crate::closed_loop::closed_loop;
use crate::contenders::{Contenders, PROXY, PostgresDatabases};
use crate::failure::Outcome;
use crate::figures::Figures;
use crate::floors::Floors;
use crate::installation::ACCOUNTS;
use crate::options::Options;
use crate::plan::Plan;
use crate::programs::Programs;
use crate::report::Report;
use crate::round::Round;
use crate::servers::{log_progress, publish};
use crate::{machine, memory};

/// Duration of each load of a contender before the measurements.
const WARM_UP: Duration = Duration::from_millis(500);

/// Runs the rounds, prints the report and writes it to the configured file.
///
/// Fails if a contender sends a wrong response, but not if it is slow.
pub fn gateway(options: &Options) -> Outcome<()> {
    let plan = Plan::from_options(options);
    let programs = Programs::from_options(options)?;
    let dir = tempfile::tempdir()?;
    let mut figures = Figures::default();
    memory(&plan, &programs, options, &mut figures)?;
    // Declared before the contenders, so that they end before the databases are
    // dropped.
    let postgres = PostgresDatabases::create(options)?;
    let mut machine = machine::describe(dir.path());
    let mut remarks = Vec::new();
    match &postgres {
        Some(databases) => {
            let description = databases.without_limits.describe()?;
            if description.contains("fsync off") {
                remarks.push("PostgreSQL ran with fsync off: its commits are too fast.".to_owned());
            }
            machine.push(("PostgreSQL", description));
        }
        None => {
            remarks.push("The server on PostgreSQL was left out: no --postgres-url.".to_owned());
        }
    }

    let postgres_url = postgres.as_ref().map(|it| it.without_limits.url.as_str());
    let mut floors = Floors::prepare(dir.path(), postgres_url)?;
    let mut contenders = Contenders::start(&programs, postgres.as_ref(), dir.path(), ACCOUNTS)?;
    let rejected = rounds(&plan, &mut contenders, &mut floors, &mut figures)?;
    contenders.check_budgets()?;

    if rejected > 0 {
        remarks.push(format!("{rejected} sign-ins were told to come again (503)."));
    }

    let report = Report {
        plan: &plan,
        machine: &machine,
        contenders: &contenders.names().collect::<Vec<_>>(),
        figures: &figures,
        floors: floors.floors(),
        remarks: &remarks,
    }
    .render();

    publish(options, "gateway", &report)
}

/// Measures the memory that streams take, in processes without any other load.
fn memory(
    plan: &Plan,
    programs: &Programs,
    options: &Options,
    figures: &mut Figures,
) -> Outcome<()> {
    let dir = tempfile::tempdir()?;
    let postgres = PostgresDatabases::create(options)?;
    let mut contenders =
        Contenders::start(&programs.without_peers(), postgres.as_ref(), dir.path(), 1)?;
    contenders.renew_tokens()?;

    for (index, it) in contenders.from(PROXY).filter(|(index, _)| *index >= PROXY) {
        log_progress(&format!("memory of {}", it.name));
        let memory = memory::measure(it, plan.still_for);
        for (metric, value) in memory.map_err(|err| format!("{}: {err}", it.name))? {
            figures.record(index, metric, value);
        }
    }

    Ok(())
}

/// Runs all rounds and returns the number of rejected sign-ins.
fn rounds(
    plan: &Plan,
    contenders: &mut Contenders,
    floors: &mut Floors,
    figures: &mut Figures,
) -> Outcome<usize> {
    warm_up(contenders)?;
    let mut rejected = 0;
    for number in 0..plan.rounds as usize {
        log_progress(&format!("round {} of {}", number + 1, plan.rounds));
        contenders.settle()?;
        floors.measure()?;
        contenders.renew_tokens()?;
        rejected += Round { number, plan, contenders, figures }.run()?;
    }
    Ok(rejected)
}

fn warm_up(contenders: &mut Contenders) -> Outcome<()> {
    contenders.renew_tokens()?;
    for (_, it) in contenders.from(0) {
        closed_loop(it.address, &it.calls.full, 32, WARM_UP)
            .and_then(|_| closed_loop(it.address, &it.calls.stream, 2, WARM_UP))
            .map_err(|err| format!("{}: {err}", it.name))?;
    }
    contenders.settle()
}
