//! `cargo xtask bench`

use crate::command::{cargo, command};
use crate::interrupt::Interrupt;
use crate::job::Job;
use crate::outcome::Outcome;
use crate::places;
use crate::postgres::Cluster;

/// Packages that are measured, and those that measure them.
const PACKAGES: [&str; 3] = ["pia-server", "pia-demo-upstream", "pia-bench"];

/// Builds the measured packages for release, and measures them.
pub(crate) fn run(args: &[String], interrupt: &Interrupt) -> Outcome {
    let mut build = cargo();
    let bench = args.first().map(String::as_str).unwrap_or_default();
    // The benchmark runs what it measures within its own process.
    let is_alone = ["knowledge", "assignments", "pods"].contains(&bench);
    let packages: &[&str] = if is_alone { &["pia-bench"] } else { &PACKAGES };
    build.args(["build", "--release"]).args(packages.iter().flat_map(|it| ["-p", it]));
    Job::run(build.current_dir(places::root()), interrupt)?;
    let mut run = command(places::target()?.join("release/pia-bench"));
    run.args(args).current_dir(places::root());
    let is_measurement = is_alone || ["gateway", "identity", "sync", "admin"].contains(&bench);
    let needs_no_cluster =
        args.iter().any(|it| ["--help", "--postgres-url"].contains(&it.as_str()));
    if !is_measurement || needs_no_cluster {
        return Job::run(&mut run, interrupt);
    }

    let cluster = Cluster::for_benches(interrupt)?;
    run.args(["--postgres-url", &cluster.url()]).arg("--postgres-log").arg(cluster.log());

    Job::run(&mut run, interrupt)
}
