//! `cargo xtask codegen`

use std::fs;

use crate::command::{cargo, output};
use crate::outcome::Outcome;
use crate::places;

/// Snapshots of OpenAPI documents, and the argument that prints each.
const SNAPSHOTS: [(&str, &str); 2] =
    [("docs/openapi.json", "public"), ("docs/openapi-admin.json", "admin")];

/// Writes the OpenAPI documents of the route table, or compares them with those
/// checked in.
pub(crate) fn run(args: &[String]) -> Outcome {
    let is_check = match args {
        [] => false,
        [only] if only == "--check" => true,
        _ => return Err("usage: cargo xtask codegen [--check]".into()),
    };

    for (path, document) in SNAPSHOTS {
        let mut print = cargo();
        print.args(["run", "--quiet", "-p", "pia-http", "--example", "openapi", "--", document]);
        let generated = output(print.current_dir(places::root()))?;
        if is_check {
            compare(path, &generated)?;
        } else {
            fs::write(places::root().join(path), generated)?;
            println!("wrote {path}");
        }
    }

    Ok(())
}

fn compare(path: &str, generated: &str) -> Outcome {
    let stored = fs::read_to_string(places::root().join(path)).unwrap_or_default();
    if stored == generated {
        return Ok(());
    }
    let difference = stored.lines().zip(generated.lines()).position(|(old, new)| old != new);
    let shorter = || stored.lines().count().min(generated.lines().count());
    let line = difference.unwrap_or_else(shorter) + 1;
    Err(format!("{path} differs from the routes from line {line} on: run `cargo xtask codegen`")
        .into())
}
