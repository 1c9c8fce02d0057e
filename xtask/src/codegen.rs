//! `cargo xtask codegen`

use std::fs;

use crate::command::{cargo, output};
use crate::outcome::Outcome;
use crate::places;

/// Writes the OpenAPI document that the route table makes, or compares it
/// with the one checked in.
pub(crate) fn run(args: &[String]) -> Outcome {
    let check = match args {
        [] => false,
        [only] if only == "--check" => true,
        _ => return Err("usage: cargo xtask codegen [--check]".into()),
    };
    let mut make = cargo();
    make.args(["run", "--quiet", "-p", "pia-http", "--example", "openapi"]);
    let made = output(make.current_dir(places::root()))?;
    let path = places::root().join("docs/openapi.json");
    if !check {
        fs::write(&path, made)?;
        println!("wrote {}", path.display());
        return Ok(());
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    if kept == made {
        return Ok(());
    }
    let differs = kept.lines().zip(made.lines()).position(|(kept, made)| kept != made);
    let line = differs.unwrap_or_else(|| kept.lines().count().min(made.lines().count())) + 1;
    Err(format!("docs/openapi.json is not what the routes say, from line {line} on: run `cargo xtask codegen`").into())
}
