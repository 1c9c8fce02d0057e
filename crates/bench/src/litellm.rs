//! `LiteLLM`'s proxy, started as a peer if it is installed.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::call::{Call, Expectation};
use crate::connection::Connection;
use crate::failure::Outcome;
use crate::installation::secret;
use crate::process::Process;

/// Time limit of the start, which imports most of Python's packages.
const START_TIMEOUT: Duration = Duration::from_mins(2);
/// Model name in requests.
pub(crate) const MODEL: &str = "bench";

/// Running proxy, and its API key.
pub(crate) struct LiteLlm {
    pub(crate) process: Process,
    pub(crate) key: String,
}

impl LiteLlm {
    /// Starts the program with the upstream as its only model and without a
    /// database. The program has one worker, so that time and memory are those of one
    /// process.
    pub(crate) fn start(
        program: &Path,
        listen: SocketAddr,
        upstream: SocketAddr,
        dir: &Path,
    ) -> Outcome<Self> {
        let home = dir.join("litellm");
        fs::create_dir_all(&home)?;
        let config = home.join("config.yaml");
        fs::write(&config, settings(upstream))?;
        let key = format!("sk-{}", secret()?);
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &home)
            .env("LITELLM_MASTER_KEY", &key)
            .env("LITELLM_MODE", "PRODUCTION")
            .env("LITELLM_LOG", "ERROR")
            // Otherwise the proxy fetches a table of prices at each start.
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            .current_dir(&home)
            .arg("--config")
            .arg(&config)
            .args(["--host", "127.0.0.1", "--port", &listen.port().to_string()])
            .args(["--num_workers", "1"]);
        let mut process = Process::start("LiteLLM", &mut command, dir)?;
        let alive = Call::get(listen, "/health/liveliness", Expectation::Holds(b"alive".to_vec()));
        process.wait_at_most(START_TIMEOUT, || {
            let response = Connection::open(listen).map(|mut it| it.exchange(&alive.request));
            response.is_ok_and(|result| result.is_ok_and(|answer| alive.check(&answer).is_ok()))
        })?;

        Ok(Self { process, key })
    }
}

fn settings(upstream: SocketAddr) -> String {
    format!(
        "model_list:
  - model_name: {MODEL}
    litellm_params:
      model: openai/{MODEL}
      api_base: http://{upstream}/v1
      api_key: a-key-of-the-benchmark
"
    )
}
