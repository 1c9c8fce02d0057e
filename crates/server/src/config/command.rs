//! The command line: what to do, and the settings that stand above all others.

use std::iter::{Enumerate, Peekable};
use std::path::PathBuf;
use std::slice::Iter;

use super::fault::{Fault, Faults, Reason};

/// What `--help` says.
pub const USAGE: &str = "\
Usage: pia-server [SWITCH] [SETTING]...

Without a switch the server starts. The switches do one thing and end:
  --migrate-only       apply pending migrations to the database
  --help, -h           show this text
  --version, -V        show the version

Where settings come from:
  --environment NAME   Development, Production (the default) or another name
  --content-root DIR   the folder of appsettings.json; the working folder if unset

Settings, which win over the environment and the files:
  --Section:Key=value  or --Section:Key value
";

/// What the process is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// To serve until it is stopped.
    Serve,
    /// To bring the database up to date, and end.
    MigrateOnly,
    /// To say how it is called, and end.
    Help,
    /// To say which version it is, and end.
    Version,
}

/// What stands on the command line.
pub(super) struct CommandLine {
    pub(super) command: Command,
    pub(super) environment: Option<String>,
    pub(super) content_root: Option<PathBuf>,
    pub(super) settings: Vec<(String, String)>,
}

type Rest<'a> = Peekable<Enumerate<Iter<'a, String>>>;

impl CommandLine {
    /// Takes apart what follows the program's name.
    pub(super) fn parse(arguments: &[String]) -> Result<Self, Faults> {
        let mut line = Self {
            command: Command::Serve,
            environment: None,
            content_root: None,
            settings: Vec::new(),
        };
        let mut faults = Vec::new();
        let mut rest = arguments.iter().enumerate().peekable();
        while let Some((index, argument)) = rest.next() {
            if let Err(reason) = line.take(argument, &mut rest) {
                // The argument itself is not told: it may be a secret.
                let origin = format!("argument {} of the command line", index + 1);
                faults.push(Fault::of_source(origin, reason));
            }
        }
        Faults::check(faults)?;
        Ok(line)
    }

    fn take(&mut self, argument: &str, rest: &mut Rest<'_>) -> Result<(), Reason> {
        if let Some(command) = switch(argument) {
            self.prefer(command);
            return Ok(());
        }
        let unclear =
            || Reason::source("expected `--Section:Key=value` or a switch; `--help` shows which");
        let named = argument.strip_prefix("--").ok_or_else(unclear)?;
        let (name, value) = match named.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (named, None),
        };
        match name.to_ascii_lowercase().as_str() {
            "environment" => self.environment = Some(value_of(value, rest)?),
            "content-root" | "contentroot" => {
                self.content_root = Some(value_of(value, rest)?.into());
            }
            lower if lower.contains(':') => {
                self.settings.push((name.to_owned(), value_of(value, rest)?));
            }
            _ => return Err(unclear()),
        }
        if argument.contains(char::REPLACEMENT_CHARACTER) {
            return Err(Reason::source("expected UTF-8"));
        }
        Ok(())
    }

    /// Whoever asks for help among other things gets help.
    fn prefer(&mut self, command: Command) {
        let rank = |it| match it {
            Command::Serve => 0,
            Command::MigrateOnly => 1,
            Command::Version => 2,
            Command::Help => 3,
        };
        if rank(command) > rank(self.command) {
            self.command = command;
        }
    }
}

fn switch(argument: &str) -> Option<Command> {
    match argument {
        "--migrate-only" => Some(Command::MigrateOnly),
        "--help" | "-h" => Some(Command::Help),
        "--version" | "-V" => Some(Command::Version),
        _ => None,
    }
}

/// What follows the `=`, or else the next argument.
fn value_of(value: Option<String>, rest: &mut Rest<'_>) -> Result<String, Reason> {
    if let Some(value) = value {
        return Ok(value);
    }
    // What begins so is far more often the next setting than a value.
    let next = rest.next_if(|(_, it)| !it.starts_with("--"));
    let (_, next) =
        next.ok_or(Reason::source("expected a value; one that begins with `--` goes behind `=`"))?;
    if next.contains(char::REPLACEMENT_CHARACTER) {
        return Err(Reason::source("expected UTF-8"));
    }
    Ok(next.clone())
}
