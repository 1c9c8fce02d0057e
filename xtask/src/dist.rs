//! `cargo xtask dist`
//!
//! The result is `target/dist/pia-server-VERSION-HOST.tar.gz`, with the binary and
//! the documentation.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{cargo, output};
use crate::interrupt::Interrupt;
use crate::job::Job;
use crate::outcome::Outcome;
use crate::places;
use crate::test::FEATURES;

/// Variable with the public key that the released binary verifies licences with.
const KEY_VARIABLE: &str = "PIA_LICENSE_PUBLIC_KEY";

/// Files that are packed with the binary, if they exist.
const PACKED_FILES: &[&str] = &["README.md", "CHANGELOG.md", "LICENSE", "deploy", "docs"];

/// Builds the binary for distribution and packs it.
pub(crate) fn run(interrupt: &Interrupt) -> Outcome {
    if env::var_os(KEY_VARIABLE).is_none_or(|it| it.is_empty()) {
        return Err(format!(
            "{KEY_VARIABLE} is not set: a release is built with the public key of whoever issues \
             its licences (`cargo xtask license` makes one)"
        )
        .into());
    }

    let mut build = cargo();
    build
        .args(["build", "--profile", "dist", "--locked", "-p", "pia-server", FEATURES])
        .env("PIA_DISTRIBUTION", "1")
        .current_dir(places::root());
    Job::run(&mut build, interrupt)?;

    let name = format!("pia-server-{}-{}", env!("CARGO_PKG_VERSION"), host()?);
    let archive = pack(&name)?;
    println!("packed {}", archive.display());

    Ok(())
}

/// Returns the target triple of this machine.
fn host() -> Outcome<String> {
    let version_info = output(Command::new("rustc").arg("-vV"))?;
    let host = version_info.lines().find_map(|it| it.strip_prefix("host: "));
    Ok(host.ok_or("rustc does not name its host")?.to_owned())
}

/// Packs the binary with its files into an archive with this name. Returns its path.
fn pack(name: &str) -> Outcome<PathBuf> {
    // Cargo builds the binary of the profile `dist` into this folder.
    let dist = places::target()?.join("dist");
    let staged = dist.join(name);
    if staged.exists() {
        fs::remove_dir_all(&staged)?;
    }

    fs::create_dir_all(&staged)?;
    fs::copy(dist.join("pia-server"), staged.join("pia-server"))?;

    for file in PACKED_FILES {
        copy(&places::root().join(file), &staged.join(file))?;
    }

    let archive = dist.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    output(tar.arg("-C").arg(&dist).arg("-czf").arg(&archive).arg(OsString::from(name)))?;
    fs::remove_dir_all(&staged)?;

    Ok(archive)
}

/// Copies a file, or a folder with its contents; a missing one is skipped.
fn copy(from: &Path, to: &Path) -> Outcome {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in from.read_dir()? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
    } else if from.is_file() {
        fs::copy(from, to)?;
    }
    Ok(())
}
