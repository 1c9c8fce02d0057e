//! Server in a process of its own, whose memory is that of the server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::server::Server;

/// Variable that is set in the process of the server.
const IS_SERVER: &str = "PIA_UPLINK_TEST_SERVER";
const BEFORE_ADDRESS: &str = "serves at ";

/// Server in a process of its own, which ends when dropped.
pub(crate) struct ChildServer {
    pub(crate) address: SocketAddr,
    process: Child,
    /// Kept open, so that it can write on.
    _output: BufReader<ChildStdout>,
}

impl Drop for ChildServer {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        self.process.wait().ok();
    }
}

impl ChildServer {
    pub(crate) fn start() -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", "child::serves_until_its_input_ends"])
            .env(IS_SERVER, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut addresses = output.by_ref().lines().map_while(Result::ok).filter_map(|line| {
            let (_, address) = line.split_once(BEFORE_ADDRESS)?;
            address.parse().ok()
        });
        let address = addresses.next().expect("an address");
        Self { address, process, _output: output }
    }

    /// Returns the memory that is in use, in KiB.
    pub(crate) fn resident_kib(&self) -> u64 {
        self.status("VmRSS:")
    }

    /// Returns the most memory that has been in use, in KiB.
    pub(crate) fn peak_kib(&self) -> u64 {
        self.status("VmHWM:")
    }

    fn status(&self, name: &str) -> u64 {
        let path = format!("/proc/{}/status", self.process.id());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find_map(|it| it.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

/// Serves in the process that another test starts, and does nothing otherwise.
#[test]
fn serves_until_its_input_ends() {
    if std::env::var_os(IS_SERVER).is_none() {
        return;
    }
    let server = Server::start();
    writeln!(std::io::stdout(), "{BEFORE_ADDRESS}{}", server.address).unwrap();
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input).unwrap();
}
