//! Command line: the command, and the settings that override all others.
//!
//! Switches, words and settings may stand in any order. Of several commands the one
//! of the highest rank counts (`prefer`), so that `--help` always helps; to migrate
//! and to prepare a pod at once is refused. Errors name the position of an argument,
//! never the argument.

use std::iter::{Enumerate, Peekable};
use std::path::PathBuf;
use std::slice::Iter;

use super::admin_command::{AdminArguments, AdminCommand};
use super::error::{Reason, SettingError, SettingErrors};
use super::provision_command::{ProvisionArguments, ProvisionCommand};

/// Text of `--help`.
pub const USAGE: &str = "\
Usage: pia-server [OPTION] [SETTING]...
       pia-server admin COMMAND [SETTING]...
       pia-server --provision-pod create --name NAME [--grant-group GUID]...
                  [--operator-skill SKILL] [SETTING]...
       pia-server --provision-pod issue-token --connector GUID [SETTING]...

Starts the server.

Options:
  --migrate-only       apply pending migrations to the database and exit
  --environment NAME   use the settings of an environment: Development,
                       Production (the default) or another name
  --content-root DIR   read appsettings.json from DIR instead of the working
                       directory
  --help, -h           print this help and exit
  --version, -V        print the version and exit

Pods:
  --provision-pod create       create a connector with a token, granted to groups,
                               for pods with tools or, with --operator-skill, for
                               pods that run a skill; prints a JSON object
  --provision-pod issue-token  create a further token of a connector

Settings, which override the environment and the files:
  --Section:Key=value  or --Section:Key value

Commands of `admin`, which change the configured database, whether or not the
server is running:

 Accounts
  grant EMAIL [--role ROLE]      assign a role: user, kb_manager, org_manager or
                                 admin (the default)
  list                           list the administrators
  deactivate EMAIL               deactivate an account and end its sessions
  reactivate EMAIL               reactivate an account
  api-key list EMAIL             list the API keys of an account
  api-key revoke ID              revoke an API key

 Invitations
  invite [EMAIL] [--role ROLE] [--days N]
                                 create a link to register one account with the
                                 role user; it is valid for 7 days by default
  invitations                    list the valid invitations
  revoke ID                      revoke an invitation

 Groups, where GROUP is a name or an id
  group list                     list the groups
  group show GROUP               show the settings of a group
  group create NAME              create a group
  group rename GROUP NAME        rename a group
  group delete GROUP             delete a group that is not in use
  group set GROUP KEY=VALUE...   change settings of a group; an empty VALUE
                                 restores the default
  group add EMAIL GROUP          move an account into a group

 Knowledge bases, where BASE and GROUP are names or ids
  kb list                        list the knowledge bases
  kb show BASE                   show a knowledge base and its documents
  kb create NAME GROUP           create a knowledge base that a group owns
  kb rename BASE NAME            rename a knowledge base
  kb delete BASE                 delete a knowledge base with its documents
  kb share BASE [GROUP]...       share it with exactly these groups
  kb import BASE FOLDER          store the files of a folder, if they are new or
                                 have changed
  kb export BASE FOLDER          write the files of all documents into a folder
  kb retry BASE                  queue all documents that failed again
  kb reindex BASE                queue all documents again, for a new model
                                 or other sizes of chunks
  kb verify BASE                 report documents that are not ready

 Pods
  pods list                      list the connectors and their connected pods
  pods revoke CONNECTOR          revoke the tokens of a connector, by its id
  pods drain POD                 end a connected pod after its calls in progress

 Credits
  credits top-up GROUP N         add N credits to a group, which do not expire
  credits check                  compare reserved credits with the reservations of
                                 open calls

 Audit log
  audit verify [FILE]            verify that no entry was changed, moved or
                                 deleted; FILE is an earlier checkpoint
  audit checkpoint               print a signed checkpoint, to be stored elsewhere
";

/// Command of the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Serves until stopped.
    Serve,
    /// Migrates the database and exits.
    MigrateOnly,
    /// Changes accounts and exits.
    Admin(AdminCommand),
    /// Prepares a pod and exits.
    ProvisionPod(ProvisionCommand),
    /// Prints the usage and exits.
    Help,
    /// Prints the version and exits.
    Version,
}

/// Parsed command line.
pub(super) struct CommandLine {
    pub(super) command: Command,
    pub(super) environment: Option<String>,
    pub(super) content_root: Option<PathBuf>,
    pub(super) settings: Vec<(String, String)>,
    provision: Option<ProvisionArguments>,
}

type RemainingArguments<'a> = Peekable<Enumerate<Iter<'a, String>>>;

impl CommandLine {
    /// Parses the arguments after the program's name.
    pub(super) fn parse(arguments: &[String]) -> Result<Self, SettingErrors> {
        let mut line = Self {
            command: Command::Serve,
            environment: None,
            content_root: None,
            settings: Vec::new(),
            provision: None,
        };

        let mut admin = None;
        let mut errors = Vec::new();
        let mut remaining = arguments.iter().enumerate().peekable();
        while let Some((index, argument)) = remaining.next() {
            if let Err(reason) = line.parse_argument(argument, &mut remaining, &mut admin) {
                // The argument is not repeated: it may be a secret.
                let origin = format!("argument {} of the command line", index + 1);
                errors.push(SettingError::of_source(origin, reason));
            }
        }

        if line.command == Command::MigrateOnly && line.provision.is_some() {
            let reason = Reason::source("use either `--migrate-only` or `--provision-pod`");
            errors.push(SettingError::of_source("the command line", reason));
        }

        let admin_command = admin.map(|it| it.command().map(Command::Admin));
        let provision_command =
            line.provision.take().map(|it| it.command().map(Command::ProvisionPod));
        for command in [admin_command, provision_command].into_iter().flatten() {
            match command {
                Ok(command) => line.prefer(command),
                // The usage shows what is right.
                Err(_) if matches!(line.command, Command::Help | Command::Version) => {}
                Err(reason) => errors.push(SettingError::of_source("the command line", reason)),
            }
        }

        SettingErrors::check(errors)?;

        Ok(line)
    }

    fn parse_argument(
        &mut self,
        argument: &str,
        remaining: &mut RemainingArguments<'_>,
        admin: &mut Option<AdminArguments>,
    ) -> Result<(), Reason> {
        if let Some(command) = switch(argument) {
            self.prefer(command);
            return Ok(());
        }

        match admin {
            None if argument == "admin" => {
                *admin = Some(AdminArguments::default());
                Ok(())
            }
            Some(words) if argument == "help" && words.is_empty() => {
                self.prefer(Command::Help);
                Ok(())
            }
            Some(words) if !argument.starts_with('-') => {
                if argument.contains(char::REPLACEMENT_CHARACTER) {
                    return Err(Reason::source("expected UTF-8"));
                }
                words.word(argument);
                Ok(())
            }
            _ => self.parse_option(argument, remaining, admin),
        }
    }

    fn parse_option(
        &mut self,
        argument: &str,
        remaining: &mut RemainingArguments<'_>,
        admin: &mut Option<AdminArguments>,
    ) -> Result<(), Reason> {
        let invalid =
            || Reason::source("expected `--Section:Key=value` or a switch; `--help` shows which");
        let option = argument.strip_prefix("--").ok_or_else(invalid)?;
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, None),
        };

        match name.to_ascii_lowercase().as_str() {
            "environment" => self.environment = Some(value_of(value, remaining)?),
            "content-root" | "contentroot" => {
                self.content_root = Some(value_of(value, remaining)?.into());
            }
            "provision-pod" => {
                let verb = value_of(value, remaining)?;
                self.provision = Some(ProvisionArguments::new(verb));
            }
            lower if ProvisionArguments::takes(lower) => {
                let arguments = self.provision.as_mut().ok_or_else(invalid)?;
                arguments.option(lower, value_of(value, remaining)?)?;
            }
            lower if AdminArguments::takes(lower) => {
                let words = admin.as_mut().ok_or_else(invalid)?;
                words.option(lower, &value_of(value, remaining)?)?;
            }
            lower if lower.contains(':') => {
                self.settings.push((name.to_owned(), value_of(value, remaining)?));
            }
            _ => return Err(invalid()),
        }

        if argument.contains(char::REPLACEMENT_CHARACTER) {
            return Err(Reason::source("expected UTF-8"));
        }

        Ok(())
    }

    /// Sets the command; help wins over all others.
    fn prefer(&mut self, command: Command) {
        let rank = |it: &Command| match it {
            Command::Serve => 0,
            Command::MigrateOnly => 1,
            Command::ProvisionPod(_) => 2,
            Command::Admin(_) => 3,
            Command::Version => 4,
            Command::Help => 5,
        };
        if rank(&command) > rank(&self.command) {
            self.command = command;
        }
    }
}

/// Returns the reason for arguments of `admin` that form no command: the syntax of a
/// known verb, such as `kb share`, or else the known verbs.
pub(super) fn invalid_admin_command(verb: &str, known: &'static str) -> Reason {
    let syntaxes = USAGE.lines().filter_map(|it| it.strip_prefix("  ")?.split("  ").next());
    let mut syntaxes = syntaxes.filter(|it| !it.is_empty());
    let is_syntax_of_verb = |syntax: &&str| match syntax.strip_prefix(verb) {
        Some("") => true,
        // A word in lower case belongs to the verb.
        Some(rest) => rest.strip_prefix(' ').is_some_and(|it| !it.starts_with(char::is_lowercase)),
        None => false,
    };
    match syntaxes.find(is_syntax_of_verb) {
        Some(syntax) => Reason::source(format!("expected `admin {syntax}`")),
        None => Reason::source(known),
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

/// Returns the value after the `=`, or else the next argument.
fn value_of(
    value: Option<String>,
    remaining: &mut RemainingArguments<'_>,
) -> Result<String, Reason> {
    if let Some(value) = value {
        return Ok(value);
    }

    // An argument that begins with `--` is far more often the next setting than
    // a value.
    let (_, next) = remaining
        .next_if(|(_, it)| !it.starts_with("--"))
        .ok_or(Reason::source("expected a value; use `=` for one that begins with `--`"))?;
    if next.contains(char::REPLACEMENT_CHARACTER) {
        return Err(Reason::source("expected UTF-8"));
    }

    Ok(next.clone())
}
