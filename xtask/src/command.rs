//! Commands, prepared to end with this process.
//!
//! Use `command` for programs that run for long and `cargo` for cargo. `setpriv` of
//! util-linux makes the kernel signal a child when its parent dies, even by SIGKILL;
//! `Job` stops children in all other cases.

use std::env;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use crate::outcome::Outcome;

/// Returns a command that ends when this process ends, in whatever way, if
/// util-linux is installed.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    ending_with_parent("TERM", &[], program.as_ref())
}

/// Returns a command that gets `signal` when this process ends, with further
/// options for `setpriv`. Without `setpriv`, only the plain program is run.
pub(crate) fn ending_with_parent(signal: &str, options: &[&str], program: &OsStr) -> Command {
    let Some(setpriv) = find_program("setpriv") else { return Command::new(program) };
    let mut command = Command::new(setpriv);
    command.args(["--pdeathsig", signal]).args(options).arg(program);
    command
}

/// Returns cargo without the variables that the outer cargo set for this
/// process: build scripts take them for changes and rebuild everything.
pub(crate) fn cargo() -> Command {
    let mut cargo = command("cargo");
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_set_by_cargo) {
            cargo.env_remove(name);
        }
    }
    cargo
}

fn is_set_by_cargo(variable: &str) -> bool {
    variable.starts_with("CARGO_PKG_")
        || variable.starts_with("CARGO_MANIFEST_")
        || ["CARGO_BIN_NAME", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE"].contains(&variable)
}

/// Returns the path of a program on the search path.
pub(crate) fn find_program(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|it| it.join(program)).find(|it| it.is_file())
}

/// Returns the standard output of a short program.
pub(crate) fn output(command: &mut Command) -> Outcome<String> {
    let output =
        command.output().map_err(|err| format!("`{}`: {err}", display_command(command)))?;
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout)?);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(format!("`{}` ended with {}: {}", display_command(command), output.status, stderr.trim())
        .into())
}

/// Formats a command as typed, without the prefix that makes it end with this
/// process.
pub(crate) fn display_command(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|it| it.to_string_lossy().into_owned()));
    match words.as_slice() {
        [setpriv, death, _, typed @ ..]
            if setpriv.ends_with("setpriv") && death == "--pdeathsig" =>
        {
            typed.join(" ")
        }
        _ => words.join(" "),
    }
}
