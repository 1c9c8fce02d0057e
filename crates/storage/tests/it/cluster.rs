//! PostgreSQL server of a single test, with TLS.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;

/// Folder of PostgreSQL's programs in Debian, with a folder per version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// Authentication rules of the cluster.
const ACCESS: &str = "
local     all all                trust
hostssl   all safe  127.0.0.1/32 trust
hostnossl all plain 127.0.0.1/32 trust
";

/// Running server; stopped and removed when dropped. Its certificate is for
/// `localhost` and not for its address.
pub(crate) struct Cluster {
    /// Port on `localhost` that the server listens on.
    pub(crate) port: u16,
    dir: TempDir,
}

impl Cluster {
    pub(crate) fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        if root() {
            run(Command::new("chown").arg("postgres").arg(dir.path()));
        }
        let port = free_port();
        let cluster = Self { port, dir };
        let data = cluster.path("data");
        run(program("initdb").args(["-A", "trust", "-U", "owner", "--no-sync", "-D"]).arg(&data));
        fs::write(data.join("pg_hba.conf"), ACCESS).unwrap();
        cluster.certify();

        let options = format!(
            "-p {port} -k {} -c listen_addresses=127.0.0.1 -c fsync=off -c ssl=on",
            cluster.dir.path().display()
        );
        let log = cluster.path("log");
        let mut start = program("pg_ctl");
        run(start.args(["-w", "-o", &options, "-l"]).arg(log).arg("-D").arg(&data).arg("start"));
        let mut roles = program("psql");
        roles.args(["-U", "owner", "-p", &port.to_string(), "-h"]).arg(cluster.dir.path());
        run(roles.args(["-c", "CREATE ROLE safe LOGIN; CREATE ROLE plain LOGIN", "postgres"]));
        cluster
    }

    /// Returns a file with the certificate of the server's authority.
    pub(crate) fn authority(&self) -> String {
        self.path("authority.pem").display().to_string()
    }

    /// Returns a file with the certificate of another authority of the same name.
    pub(crate) fn impostor(&self) -> String {
        self.path("stranger.pem").display().to_string()
    }

    /// Returns a file with the server's own certificate.
    pub(crate) fn own_certificate(&self) -> String {
        self.path("data/server.crt").display().to_string()
    }

    fn certify(&self) {
        let authority = issuer();
        fs::write(self.path("authority.pem"), authority.as_ref().pem()).unwrap();
        fs::write(self.path("stranger.pem"), issuer().as_ref().pem()).unwrap();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &authority).unwrap();
        self.hand_over("data/server.crt", &certificate.pem());
        self.hand_over("data/server.key", &key.serialize_pem());
    }

    /// Writes a file that the server accepts as its own.
    fn hand_over(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        if root() {
            run(Command::new("chown").arg("postgres").arg(&path));
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let mut stop = program("pg_ctl");
        stop.args(["-m", "immediate", "-D"]).arg(self.path("data")).arg("stop");
        // Failed or not, the folder is removed next.
        drop(stop.output());
    }
}

fn issuer() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Returns one of PostgreSQL's programs, as a user it agrees to run as.
fn program(name: &str) -> Command {
    let mut versions: Vec<PathBuf> =
        Path::new(DEBIAN).read_dir().into_iter().flatten().flatten().map(|it| it.path()).collect();
    versions.sort();
    let installed = versions.pop().map(|version| version.join("bin").join(name));
    let path = installed.unwrap_or_else(|| name.into());
    if !root() {
        return Command::new(path);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(path);
    command.current_dir("/");
    command
}

/// Returns whether this runs as root, which `initdb` rejects.
fn root() -> bool {
    tempfile::tempfile().unwrap().metadata().unwrap().uid() == 0
}

fn run(command: &mut Command) {
    let output = command.output().expect("PostgreSQL's programs: install `postgresql`");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {stderr}");
}

/// Returns a port that is free now, below the range of ephemeral ports: the system
/// does not assign it to another test meanwhile.
fn free_port() -> u16 {
    let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let start = u16::try_from(std::process::id() % 10_000).unwrap();
    (start..start + 1_000).map(|it| 20_000 + it).find(free).expect("a free port")
}
