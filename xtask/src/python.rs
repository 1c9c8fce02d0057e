//! Python packages in local virtual environments.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::output;
use crate::debian;
use crate::outcome::Outcome;
use crate::places;

/// Virtual environment below `target/tools`, created once.
pub(crate) struct Venv(PathBuf);

impl Venv {
    /// Returns an environment with exactly these packages, each as
    /// `name==version`.
    pub(crate) fn with(name: &str, packages: &[&str]) -> Outcome<Self> {
        let dir = places::target()?.join("tools").join(name);
        // Written last: an incomplete environment does not count. It contains
        // the folder, since environments do not survive being moved.
        let finished = dir.join("finished.txt");
        let content = format!("{}\n{}\n", dir.display(), packages.join("\n"));
        if fs::read_to_string(&finished).is_ok_and(|it| it == content) {
            return Ok(Self(dir));
        }

        println!("Installing {} into {} …", packages.join(", "), dir.display());
        create(&dir)?;
        let venv = Self(dir);
        let mut pip = Command::new(venv.program("python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages);
        output(&mut pip)?;
        fs::write(finished, content)?;

        Ok(venv)
    }

    /// Returns the path of a program of the environment.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.0.join("bin").join(name)
    }
}

fn create(dir: &Path) -> Outcome {
    let make = || output(Command::new("python3").args(["-m", "venv", "--clear"]).arg(dir));
    if make().is_err() {
        debian::install("Python 3 with its module venv", &["python3", "python3-venv"])?;
        make()?;
    }
    Ok(())
}
