//! The certified OpenID provider of the npm registry.

use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::{CALLBACK, CLIENT_SECRET};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/auth/oidc/provider.mjs");

/// Provider on this machine; killed on drop.
pub(super) struct NodeProvider {
    pub(super) issuer: String,
    _process: Child,
}

impl NodeProvider {
    pub(super) async fn start(accounts: &Value) -> Self {
        #[expect(clippy::disallowed_methods, reason = "a test reads the environment itself")]
        let modules = std::env::var("TEST_OIDC").expect(
            "TEST_OIDC is not set: run `cargo xtask test`, which installs npm's oidc-provider",
        );
        #[expect(clippy::disallowed_methods, reason = "a test reads the environment itself")]
        let path = std::env::var("PATH");
        let mut process = Command::new("node")
            .arg(SCRIPT)
            .env_clear()
            .env("PATH", path.expect("a search path"))
            .env("OIDC_MODULES", modules)
            .env("OIDC_ACCOUNTS", accounts.to_string())
            .env("OIDC_CALLBACK", CALLBACK)
            .env("OIDC_SECRET", CLIENT_SECRET)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("Node.js");
        let output = BufReader::new(process.stdout.take().expect("its output"));
        let port = output.lines().next_line().await.expect("its output").expect("a port");
        Self { issuer: format!("http://127.0.0.1:{port}"), _process: process }
    }
}
