//! Installing what is missing, where that is possible without asking.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use crate::command::{find_program, output};
use crate::outcome::Outcome;

/// Installs packages as root on Debian and its kin; elsewhere says what to install.
pub(crate) fn install(what_for: &str, packages: &[&str]) -> Outcome {
    let names = packages.join(" ");
    if !root()? || find_program("apt-get").is_none() {
        return Err(format!("{what_for} is missing: install it (on Debian: `sudo apt-get install {names}`) and try again").into());
    }
    println!("Installing {names}, as {what_for} is missing …");
    apt(&["update", "-qq"])?;
    apt(&[&["install", "-y", "-qq", "--no-install-recommends"], packages].concat())
}

/// Returns whether this runs as root.
pub(crate) fn root() -> io::Result<bool> {
    Ok(tempfile::tempfile()?.metadata()?.uid() == 0)
}

fn apt(args: &[&str]) -> Outcome {
    let mut apt = Command::new("apt-get");
    output(apt.args(args).env("DEBIAN_FRONTEND", "noninteractive")).map(drop)
}
