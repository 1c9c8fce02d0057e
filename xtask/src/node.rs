//! Packages of the npm registry in folders of our own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::command::{find_program, output};
use crate::debian;
use crate::outcome::Outcome;
use crate::places;

/// Files that name the packages, and their exact versions.
const LISTS: [&str; 2] = ["package.json", "package-lock.json"];

/// A folder below `target/tools` that holds exactly what the lists in `from`
/// name, made once.
pub(crate) fn modules(name: &str, from: &str) -> Outcome<PathBuf> {
    let (from, dir) = (places::root().join(from), places::target()?.join("tools").join(name));
    let mut holds = String::new();
    for list in LISTS {
        holds.push_str(&fs::read_to_string(from.join(list))?);
    }
    if find_program("node").is_none() || find_program("npm").is_none() {
        debian::install("Node.js with npm", &["nodejs", "npm"])?;
    }
    // Written last: a folder half filled does not count.
    let finished = dir.join("finished.txt");
    if fs::read_to_string(&finished).is_ok_and(|it| it == holds) {
        return Ok(dir);
    }
    println!("Installing npm packages into {} …", dir.display());
    fs::create_dir_all(&dir)?;
    for list in LISTS {
        fs::copy(from.join(list), dir.join(list))?;
    }
    // No package is to run anything here.
    let quiet = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    output(Command::new("npm").args(quiet).current_dir(&dir))?;
    fs::write(finished, holds)?;
    Ok(dir)
}
