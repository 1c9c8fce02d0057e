//! Folder of a development server.

use std::fmt::Write as _;
use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use pia_kernel::{Clock, SystemClock};
use pia_policy::{Edition, Feature, SigningKey, Terms};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::json;

use crate::outcome::Outcome;

/// Key that signs licences for builds without a key of their own.
const DEVELOPMENT_KEY: &str = include_str!("../dev-license-key");

/// Folder with settings, secrets and a licence, created at its first use.
pub(crate) struct DevFolder(PathBuf);

impl DevFolder {
    pub(crate) fn open(path: &Path) -> Outcome<Self> {
        if !path.is_dir() {
            DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        }

        let settings = path.join("appsettings.Development.json");
        if !settings.exists() {
            write_secret(&settings, &new_settings()?)?;
        }

        let licence = path.join("license.lic");
        if !licence.exists() {
            write_secret(&licence, &new_licence()?)?;
        }

        Ok(Self(path.to_owned()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

/// Returns the settings of a development server, including its secrets. Paths
/// are relative to the folder.
fn new_settings() -> Outcome<String> {
    let settings = json!({
        "Database": { "Provider": "sqlite", "ConnectionString": "Data Source=pia.db" },
        "License": { "Path": "license.lic" },
        "Jwt": { "SecretKey": random_hex::<32>()? },
        "Encryption": { "MasterKey": random_hex::<32>()? },
    });
    Ok(format!("{settings:#}\n"))
}

/// Returns a licence for all features but those of the managed service, signed
/// with the development key.
fn new_licence() -> Outcome<String> {
    let mut terms = Terms::new("development", Edition::Community, SystemClock.now());
    let managed = Feature::ManagedCloud;
    terms.features = Some(Feature::ALL.into_iter().filter(|it| *it != managed).collect());
    let key = SigningKey::parse(DEVELOPMENT_KEY)?;
    Ok(key.issue(&terms)? + "\n")
}

/// Writes a file that only its owner can read.
fn write_secret(path: &Path, text: &str) -> Outcome {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    Ok(file.write_all(text.as_bytes())?)
}

/// Returns random bytes in hexadecimal.
pub(crate) fn random_hex<const N: usize>() -> Outcome<String> {
    let mut bytes = [0; N];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_unspecified| "the system gives no random bytes")?;
    let mut hex = String::new();
    for byte in bytes {
        write!(hex, "{byte:02x}")?;
    }
    Ok(hex)
}
