//! Sources of settings.
//!
//! The `load_…` and `read_…` methods serve the purposes of a process (`Config`,
//! `AdminConfig`, `MigrationConfig`, `ProvisionConfig`). All of them merge the layers,
//! read, and report unknown keys, in `read_with`.

use std::fmt;
use std::path::PathBuf;

use figment::Figment;

use super::command::{Command, CommandLine};
use super::environment::Environment;
use super::error::{Reason, SettingError, SettingErrors};
use super::layers::Layer;
use super::notice::Notice;
use super::section::{Layered, Outcome, Section};
use crate::config::SECTIONS;
use crate::{AdminConfig, Config, MigrationConfig, ProvisionConfig, unknown};

/// Variables that name the environment; the first that is set counts.
const ENVIRONMENT: [&str; 3] = ["PIA_ENVIRONMENT", "ASPNETCORE_ENVIRONMENT", "DOTNET_ENVIRONMENT"];
const CONTENT_ROOT: &str = "PIA_CONTENT_ROOT";

/// Sources of settings, each overriding the previous one: `appsettings.json`,
/// `appsettings.{environment}.json`, the environment, the command line.
#[derive(Clone)]
pub struct Sources {
    /// Folder of the files, and base of relative paths.
    pub dir: PathBuf,
    /// Environment: `Development`, `Production`, …
    pub environment: Environment,
    /// Environment variables; those of other programs are ignored.
    pub variables: Vec<(String, String)>,
    /// Settings of the command line: `Section:Key` and the value.
    pub arguments: Vec<(String, String)>,
}

impl Sources {
    /// Returns the sources of this process, and its command.
    pub fn of_process() -> Result<(Command, Self), SettingErrors> {
        // Invalid UTF-8 is detected later, if it concerns a setting.
        let text = |it: std::ffi::OsString| it.to_string_lossy().into_owned();
        let variables = std::env::vars_os().map(|(name, value)| (text(name), text(value)));
        let arguments: Vec<String> = std::env::args_os().skip(1).map(text).collect();
        Self::from_command_line(variables.collect(), &arguments)
    }

    /// Creates the sources of a process with these variables and arguments.
    pub fn from_command_line(
        variables: Vec<(String, String)>,
        arguments: &[String],
    ) -> Result<(Command, Self), SettingErrors> {
        let line = CommandLine::parse(arguments)?;

        let variable = |variable_name: &str| {
            variables
                .iter()
                .find(|(name, value)| name == variable_name && !value.is_empty())
                .map(|(_, value)| value.clone())
        };

        let configured = match line.environment {
            Some(name) => Some(("the command line", name)),
            None => ENVIRONMENT.into_iter().find_map(|it| Some((it, variable(it)?))),
        };

        let environment = match configured {
            Some((origin, name)) => {
                Environment::from_name(&name).map_err(|it| SettingError::of_source(origin, it))?
            }
            None => Environment::production(),
        };

        let content_root = line
            .content_root
            .or_else(|| variable(CONTENT_ROOT).map(PathBuf::from))
            .unwrap_or_else(|| PathBuf::from("."));
        let dir = std::path::absolute(&content_root).unwrap_or(content_root);
        if !dir.is_dir() {
            let reason = Reason::source("expected a folder");
            return Err(SettingError::of_source("the content root", reason).into());
        }

        Ok((line.command, Self { dir, environment, variables, arguments: line.settings }))
    }

    /// Loads the configuration of a serving process.
    pub fn load_config(&self) -> Result<Config, SettingErrors> {
        self.load_config_below(&[])
    }

    /// Loads the configuration of a serving process, with `overrides` (keys and
    /// values) above all layers.
    pub fn load_config_below(
        &self,
        overrides: &[(String, String)],
    ) -> Result<Config, SettingErrors> {
        let (config, outcome) = self.read_with(overrides, Config::from_section)?;
        Ok(config.with(outcome))
    }

    /// Loads only the configuration of a migration, which needs no secrets but
    /// the connection strings.
    pub fn read_for_migration(&self) -> Result<MigrationConfig, SettingErrors> {
        let (config, outcome) = self.read_with(&[], MigrationConfig::from_section)?;
        Ok(MigrationConfig { notices: outcome.notices, ..config })
    }

    /// Loads only the configuration of administration, which needs no signing
    /// keys.
    pub fn read_for_admin(&self) -> Result<AdminConfig, SettingErrors> {
        let (config, _outcome) = self.read_with(&[], AdminConfig::from_section)?;
        Ok(config)
    }

    /// Returns notices about unknown settings in all sections, also those that a
    /// command does not read.
    pub fn unknown_settings(&self) -> Result<Vec<Notice>, SettingErrors> {
        let layered = self.layered(&[])?;
        let mut outcome = Outcome::default();
        // Errors concern only those who need the settings.
        let _config = Config::from_section(&mut Section::all(&layered, &mut outcome));
        outcome.notices.clear();
        unknown::report(&layered, &mut outcome);
        Ok(outcome.notices)
    }

    /// Loads only the configuration of the preparation of a pod, which needs no keys.
    pub fn read_for_provisioning(&self) -> Result<ProvisionConfig, SettingErrors> {
        let (config, _outcome) = self.read_with(&[], ProvisionConfig::from_section)?;
        Ok(config)
    }

    /// Returns the paths of the files, which may not exist; they can be watched
    /// for changes.
    pub fn files(&self) -> Vec<PathBuf> {
        self.names().iter().map(|it| self.dir.join(it)).collect()
    }

    fn names(&self) -> [String; 2] {
        ["appsettings.json".to_owned(), format!("appsettings.{}.json", self.environment.name())]
    }

    fn read_with<T>(
        &self,
        overrides: &[(String, String)],
        read: impl FnOnce(&mut Section<'_>) -> Option<T>,
    ) -> Result<(T, Outcome), SettingErrors> {
        let layered = self.layered(overrides)?;
        let mut outcome = Outcome::default();
        let config = read(&mut Section::all(&layered, &mut outcome));
        unknown::report(&layered, &mut outcome);
        match config {
            Some(config) if outcome.errors.is_empty() => Ok((config, outcome)),
            _ => Err(outcome.errors.into()),
        }
    }

    fn layered(&self, overrides: &[(String, String)]) -> Result<Layered, SettingErrors> {
        let mut layers = Figment::new();
        let mut errors = Vec::new();
        for name in self.names() {
            match Layer::json(&name, &self.dir.join(&name)) {
                Ok(layer) => layers = layers.merge(layer),
                Err(error) => errors.push(error),
            }
        }

        match Layer::environment(&self.variables, &SECTIONS) {
            Ok(layer) => layers = layers.merge(layer),
            Err(errors_of_layer) => errors.extend(errors_of_layer),
        }

        SettingErrors::check(errors)?;
        let layers =
            layers.merge(Layer::command_line(&self.arguments)).merge(Layer::console(overrides));

        Ok(Layered::new(layers, self.environment.clone(), self.dir.clone())?)
    }
}

/// Omits the values, since some are secrets.
impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources")
            .field("dir", &self.dir)
            .field("environment", &self.environment)
            .finish_non_exhaustive()
    }
}
