//! `LiteLLM`'s proxy, as a peer: started where somebody has installed it.

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
const START: Duration = Duration::from_mins(2);
/// Model name in requests.
pub(crate) const MODEL: &str = "bench";

/// A running proxy, and what opens it.
pub(crate) struct LiteLlm {
    pub(crate) process: Process,
    pub(crate) key: String,
}

impl LiteLlm {
    /// Starts the program with the upstream as its only model, without a
    /// database. It has one worker: one process, whose time and memory can be
    /// reported.
    pub(crate) fn start(
        program: &Path,
        listen: SocketAddr,
        upstream: SocketAddr,
        dir: &Path,
    ) -> Outcome<Self> {
        let own = dir.join("litellm");
        fs::create_dir_all(&own)?;
        let config = own.join("config.yaml");
        fs::write(&config, settings(upstream))?;
        let key = format!("sk-{}", secret()?);
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &own)
            .env("LITELLM_MASTER_KEY", &key)
            .env("LITELLM_MODE", "PRODUCTION")
            .env("LITELLM_LOG", "ERROR")
            // It would fetch a table of prices at each start.
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            .current_dir(&own)
            .arg("--config")
            .arg(&config)
            .args(["--host", "127.0.0.1", "--port", &listen.port().to_string()])
            .args(["--num_workers", "1"]);
        let mut process = Process::start("LiteLLM", &mut command, dir)?;
        let alive = Call::get(listen, "/health/liveliness", Expectation::Holds(b"alive".to_vec()));
        process.wait_as_long(START, || {
            let answer = Connection::open(listen).map(|mut it| it.exchange(&alive.request));
            answer.is_ok_and(|it| it.is_ok_and(|it| alive.check(&it).is_ok()))
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
