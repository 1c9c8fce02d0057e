//! Packages of the npm registry in local folders.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::command::{find_program, output};
use crate::debian;
use crate::outcome::Outcome;
use crate::places;

/// Files that name the packages, and their exact versions.
const LISTS: [&str; 2] = ["package.json", "package-lock.json"];

/// Returns a folder below `target/tools` with exactly the packages that the
/// lists in the folder `from` name, created once.
pub(crate) fn modules(name: &str, from: &str) -> Outcome<PathBuf> {
    let source = places::root().join(from);
    let dir = places::target()?.join("tools").join(name);
    let mut content = String::new();
    for list in LISTS {
        content.push_str(&fs::read_to_string(source.join(list))?);
    }

    if find_program("node").is_none() || find_program("npm").is_none() {
        debian::install("Node.js with npm", &["nodejs", "npm"])?;
    }

    // Written last: an incomplete folder does not count.
    let finished = dir.join("finished.txt");
    if fs::read_to_string(&finished).is_ok_and(|it| it == content) {
        return Ok(dir);
    }

    println!("Installing npm packages into {} …", dir.display());
    fs::create_dir_all(&dir)?;

    for list in LISTS {
        fs::copy(source.join(list), dir.join(list))?;
    }

    // Packages must not run scripts.
    let quiet = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    output(Command::new("npm").args(quiet).current_dir(&dir))?;
    fs::write(finished, content)?;

    Ok(dir)
}
