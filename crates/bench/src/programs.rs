//! Programs that benchmarks start.

use std::path::{Path, PathBuf};

use crate::failure::Outcome;
use crate::options::Options;

/// Paths of the programs that are started.
#[derive(Clone)]
pub(crate) struct Programs {
    pub(crate) demo: PathBuf,
    pub(crate) proxy: PathBuf,
    pub(crate) server: PathBuf,
    pub(crate) litellm: Option<PathBuf>,
}

impl Programs {
    /// Returns the configured programs, and by default those in this program's
    /// folder.
    pub(crate) fn from_options(options: &Options) -> Outcome<Self> {
        let litellm =
            options.litellm.as_deref().map(|it| program(Some(it), "LiteLLM")).transpose()?;
        Ok(Self {
            litellm,
            demo: program(options.demo.as_deref(), "pia-demo-upstream")?,
            proxy: program(None, "pia-bench-bare-proxy")?,
            server: server_program(options)?,
        })
    }

    /// Returns the programs without peers, for benchmarks that do not measure
    /// them.
    pub(crate) fn without_peers(&self) -> Self {
        Self { litellm: None, ..self.clone() }
    }
}

/// Returns the path of the server's program: the configured one, or else the
/// one in the folder of this program.
pub(crate) fn server_program(options: &Options) -> Outcome<PathBuf> {
    program(options.server.as_deref(), "pia-server")
}

fn program(configured: Option<&Path>, name: &str) -> Outcome<PathBuf> {
    let this = std::env::current_exe()?;
    let path = configured.map_or_else(|| this.with_file_name(name), Path::to_owned);
    // The server runs in another folder.
    std::path::absolute(&path)
        .ok()
        .filter(|it| it.is_file())
        .ok_or_else(|| format!("{} is missing: build {name} first", path.display()).into())
}
