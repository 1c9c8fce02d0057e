//! Tests of the settings, as operators write them.

mod ai;
mod catalogue;
mod command;
mod knowledge;
mod layers;
mod notices;
mod oauth;
mod operating;
mod operators;
mod reload;
mod secrets;
mod sections;
mod smtp;

use tempfile::TempDir;

use super::*;

const SIGNING_KEY: &str = "vR4mZk1uXq9TtB7cY0eHs6wLpD3fGjNa";
const MASTER_KEY: &str = "3f8a1c5e9b7d2046e1f7a3c95b8d6e02c4d1907f5ab36e8829f04c7d61b5ea38";

/// Sources of settings, as configured by an operator.
struct Operator {
    dir: TempDir,
    sources: Sources,
}

impl Operator {
    /// Creates sources without any setting.
    fn new(environment: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let sources = Sources {
            dir: dir.path().to_owned(),
            environment: Environment::from_name(environment).unwrap(),
            variables: Vec::new(),
            arguments: Vec::new(),
        };
        Self { dir, sources }
    }

    /// Creates the settings that development requires.
    fn development() -> Self {
        Self::new("Development")
            .variable("JWT_SECRET_KEY", SIGNING_KEY)
            .variable("ENCRYPTION_MASTER_KEY", MASTER_KEY)
    }

    /// Creates the settings that production requires.
    fn production() -> Self {
        Self { sources: Self::development().sources, ..Self::new("Production") }
            .environment("Production")
            .variable("Server__PublicUrl", "https://pia.example.com")
            .variable("Database__ConnectionString", "postgres://pia@db/pia")
    }

    fn environment(mut self, name: &str) -> Self {
        self.sources.environment = Environment::from_name(name).unwrap();
        self.sources.dir = self.dir.path().to_owned();
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.sources.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds `Section:Key=value` to the command line.
    fn argument(mut self, setting: &str) -> Self {
        let (key, value) = setting.split_once('=').unwrap();
        self.sources.arguments.push((key.to_owned(), value.to_owned()));
        self
    }

    fn file(self, name: &str, text: &str) -> Self {
        std::fs::write(self.dir.path().join(name), text).unwrap();
        self
    }

    /// Adds several settings to the command line.
    fn arguments(self, settings: &[&str]) -> Self {
        settings.iter().fold(self, |it, setting| it.argument(setting))
    }

    fn read(&self) -> Config {
        self.sources.load_config().unwrap()
    }

    /// Returns the formatted errors.
    fn errors(&self) -> Vec<String> {
        self.sources.load_config().unwrap_err().iter().map(ToString::to_string).collect()
    }

    fn notices(&self) -> Vec<String> {
        self.read().notices.iter().map(ToString::to_string).collect()
    }
}
