//! Commands, made ready for what they are to run beside.

use std::env;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use crate::outcome::Outcome;

/// A command that ends when this process ends, however that happens, where
/// util-linux is there to see to it.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    ending_with_us("TERM", &[], program.as_ref())
}

/// Runs a program that ends with this one by this signal, with more for
/// `setpriv` to do. Where it is missing, only the plain program is left.
pub(crate) fn ending_with_us(signal: &str, also: &[&str], program: &OsStr) -> Command {
    let Some(setpriv) = find_program("setpriv") else { return Command::new(program) };
    let mut command = Command::new(setpriv);
    command.args(["--pdeathsig", signal]).args(also).arg(program);
    command
}

/// Cargo, without the environment of the cargo that runs this: build
/// scripts take such variables for changes and build all anew.
pub(crate) fn cargo() -> Command {
    let mut cargo = command("cargo");
    let ours = ["CARGO_BIN_NAME", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE"];
    for (name, _) in env::vars_os() {
        let reported = name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_")
                || name.starts_with("CARGO_MANIFEST_")
                || ours.contains(&name)
        });
        if reported {
            cargo.env_remove(name);
        }
    }
    cargo
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
    let message = String::from_utf8_lossy(&output.stderr);
    Err(format!("`{}` ended with {}: {}", display_command(command), output.status, message.trim())
        .into())
}

/// A command as one would type it, but for what keeps it from outliving us.
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
