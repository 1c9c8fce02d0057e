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
    build.args(["build", "--release"]).args(PACKAGES.iter().flat_map(|it| ["-p", it]));
    Job::run(build.current_dir(places::root()), interrupt)?;
    let mut bench = command(places::target()?.join("release/pia-bench"));
    bench.args(args).current_dir(places::root());
    let measures = args
        .first()
        .is_some_and(|it| ["gateway", "identity", "sync", "admin"].contains(&it.as_str()));
    if !measures || ["--help", "--postgres-url"].iter().any(|it| args.iter().any(|arg| arg == it)) {
        return Job::run(&mut bench, interrupt);
    }
    let cluster = Cluster::for_benches(interrupt)?;
    bench.args(["--postgres-url", &cluster.url()]).arg("--postgres-log").arg(cluster.log());
    Job::run(&mut bench, interrupt)
}
