//! Installation of missing packages, where that is possible without
//! interaction.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use crate::command::{find_program, output};
use crate::outcome::Outcome;

/// Installs packages as root on Debian and its derivatives; elsewhere the error
/// says what to install.
pub(crate) fn install(purpose: &str, packages: &[&str]) -> Outcome {
    let names = packages.join(" ");
    if !is_root()? || find_program("apt-get").is_none() {
        return Err(format!("{purpose} is missing: install it (on Debian: `sudo apt-get install {names}`) and try again").into());
    }
    println!("Installing {names}, as {purpose} is missing …");
    apt(&["update", "-qq"])?;
    apt(&[&["install", "-y", "-qq", "--no-install-recommends"], packages].concat())
}

/// Returns whether this runs as root.
pub(crate) fn is_root() -> io::Result<bool> {
    Ok(tempfile::tempfile()?.metadata()?.uid() == 0)
}

fn apt(args: &[&str]) -> Outcome {
    let mut apt = Command::new("apt-get");
    output(apt.args(args).env("DEBIAN_FRONTEND", "noninteractive")).map(drop)
}
