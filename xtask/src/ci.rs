//! `cargo xtask ci`
//!
//! `commands` is the list of the checks, in their order; the first failure ends the
//! run. A table of the times follows in either case.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::command::{cargo, display_command};
use crate::interrupt::Interrupt;
use crate::job::Job;
use crate::outcome::Outcome;
use crate::places;
use crate::test::FEATURES;
use crate::workshop::Workshop;

/// Runs all checks that a change must pass, the quick ones first.
pub(crate) fn run(interrupt: &Interrupt) -> Outcome {
    let mut durations = Vec::new();
    let outcome = steps(&mut durations, interrupt);
    println!("\n{:<28}{:>10}", "step", "seconds");
    for (name, time) in &durations {
        println!("{name:<28}{:>10.1}", time.as_secs_f64());
    }
    let total: Duration = durations.iter().map(|(_, time)| *time).sum();
    println!("{:<28}{:>10.1}", "all", total.as_secs_f64());
    outcome
}

fn steps(durations: &mut Vec<(&'static str, Duration)>, interrupt: &Interrupt) -> Outcome {
    let mut timed = |name, step: &mut dyn FnMut() -> Outcome| {
        let started = Instant::now();
        let outcome = step();
        durations.push((name, started.elapsed()));
        outcome.map_err(|err| format!("{name}: {err}"))
    };

    let mut workshop = None;
    timed("tools", &mut || {
        workshop = Some(Workshop::ready(interrupt)?);
        Ok(())
    })?;
    let workshop = workshop.ok_or("the tools are not ready")?;
    let checks = audit(&workshop).into_iter().chain(commands(&workshop));
    for (name, mut command) in checks {
        println!("\n==> {name}: {}", display_command(&command));
        timed(name, &mut || Job::run(command.current_dir(places::root()), interrupt))?;
    }

    Ok(())
}

/// Returns the audit of dependencies by the advisories on this machine: CI does
/// not depend on a download.
fn audit(workshop: &Workshop) -> Option<(&'static str, Command)> {
    let Some(advisories) = places::advisories() else {
        println!("\n==> advisories: not checked, for there are none here (`ADVISORY_DB`)");
        return None;
    };
    let mut audit = workshop.tool("cargo-audit");
    audit.args(["audit", "--no-fetch", "--stale", "--db"]).arg(advisories);
    Some(("advisories", audit))
}

fn commands(workshop: &Workshop) -> Vec<(&'static str, Command)> {
    let tool = |program, args: &[&str]| {
        let mut tool = workshop.tool(program);
        tool.args(args);
        tool
    };

    let cargo_with = |args: &[&str]| {
        let mut command = cargo();
        command.args(args);
        command
    };

    let clippy =
        ["clippy", "--locked", "--workspace", FEATURES, "--all-targets", "--", "-D", "warnings"];
    // The build of contributors, who do without the feature. A test is named
    // because dependencies have the features of tests then, as in the step
    // before: they are not built once more.
    let without_temporal = [
        &["clippy", "--locked", "--workspace", "--lib", "--bins", "--test", "architecture"][..],
        &["--", "-D", "warnings"],
    ]
    .concat();
    // The programs without a library of the same name. An example is named for
    // the same reason as the test above.
    let documented = [
        &["doc", "--locked", "--workspace", FEATURES, "--no-deps", "--document-private-items"][..],
        &["--lib", "--bin", "xtask", "--bin", "pia-bench-bare-proxy", "--example", "openapi"],
    ]
    .concat();
    let mut docs = cargo_with(&documented);
    // Not in RUSTFLAGS, which would rebuild all dependencies.
    docs.env("RUSTDOCFLAGS", "-D warnings");

    // `--workspace`, so that dependencies are built once, with the features
    // that the tests need.
    let structure_tests = [
        &["test", "--workspace", FEATURES][..],
        &["--test", "architecture", "--test", "tidy", "--test", "words"],
    ]
    .concat();

    vec![
        ("format", cargo_with(&["fmt", "--all", "--check"])),
        ("spelling", tool("typos", &[])),
        ("unused dependencies", tool("cargo-shear", &[])),
        ("bans, licences, sources", tool("cargo-deny", &["check", "bans", "licenses", "sources"])),
        ("clippy", cargo_with(&clippy)),
        ("clippy without Temporal", cargo_with(&without_temporal)),
        ("docs", docs),
        ("architecture and tidiness", cargo_with(&structure_tests)),
        ("tests", cargo_with(&["xtask", "test"])),
    ]
}
