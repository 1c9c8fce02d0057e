//! `Server`: addresses and limits of the server.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::Duration;

use ipnet::IpNet;
use pia_web::StrictTransport;

use super::base_url::BaseUrl;
use super::byte_size::ByteSize;
use super::error::Reason;
use super::section::Section;
use super::setting::Setting;

const PORT: u16 = 8080;
const MAX_NAME_CHARS: usize = 64;
/// Maximum length of a body of any route, which body memory must hold.
const MAX_BODY_SIZE: ByteSize = ByteSize::mib(32);

/// Addresses of the server.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Address that it listens on.
    pub address: SocketAddr,
    /// Public URL of the server, including its base path.
    pub public_url: BaseUrl,
    /// Display name of the server, for authenticators and pages.
    pub name: String,
    /// URL of the setup page; without a host if the public URL is not
    /// configured.
    pub setup_url: String,
    /// Path before every route: empty, or `/pia`.
    pub base_path: String,
    /// Proxies whose report of the client address is trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// HSTS policy; empty if browsers connect without TLS.
    pub strict_transport: StrictTransport,
    /// Number of workers.
    pub workers: usize,
    /// Maximum duration of running requests during shutdown.
    pub shutdown_timeout: Duration,
    /// Maximum number of connections of a worker.
    pub max_connections_per_worker: usize,
    /// Maximum number of bytes of bodies in memory, over all requests.
    pub max_body_memory: usize,
    /// File with the locations of IP addresses.
    pub location_database: Option<PathBuf>,
    /// Certificate, if the server terminates TLS itself.
    pub tls: Option<TlsFiles>,
}

/// Paths of a certificate and its key.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// Certificate chain, the server's own certificate first, as PEM.
    pub certificate: PathBuf,
    /// Private key, as PEM.
    pub key: PathBuf,
}

impl ServerConfig {
    pub(super) fn from_section(from: &mut Section<'_>) -> Option<Self> {
        let cores = available_parallelism().map_or(1, usize::from);

        let host = if from.environment().is_development() {
            Ipv4Addr::LOCALHOST
        } else {
            Ipv4Addr::UNSPECIFIED
        };
        let address = from.restart("Address").or(SocketAddr::from((host, PORT)));
        let base_path =
            from.restart("BasePath").optional::<BasePath>().map(|it| it.0).unwrap_or_default();
        let location_database = from.restart("LocationDatabasePath").optional::<PathBuf>();
        let tls = TlsFiles::from_section(&mut from.section("Tls"));
        let configured = configured_url(from);
        let base = configured.as_ref().map_or(base_path.as_str(), BaseUrl::as_str);
        let setup_url = format!("{base}/admin/setup");

        let public_url = if from.environment().is_development() {
            configured.or_else(|| Some(default_url(address, tls.is_some(), &base_path)))
        } else {
            configured
        };

        let hsts = from.restart("StrictTransport").or(Hsts(Hsts::DEFAULT.to_owned()));
        let is_https = public_url.as_ref().is_some_and(|it| it.as_str().starts_with("https://"));
        let strict_transport = if is_https { hsts.policy() } else { None };
        let workers = from.restart("Workers").within(cores, 1..=1024);
        let range = Duration::ZERO..=Duration::from_mins(10);
        let config = Self {
            address,
            public_url: public_url?,
            name: from.restart("Name").or(ServerName("Pia".to_owned())).0,
            setup_url,
            base_path,
            trusted_proxies: from.restart("TrustedProxies").list(),
            strict_transport: strict_transport.unwrap_or_default(),
            workers,
            shutdown_timeout: from
                .restart("ShutdownTimeout")
                .within(Duration::from_secs(30), range),
            max_connections_per_worker: from
                .restart("MaxConnections")
                .within(25_000_usize, 1..=10_000_000)
                .div_ceil(workers),
            max_body_memory: from
                .restart("MaxBodyMemory")
                .within(ByteSize::mib(256), MAX_BODY_SIZE..=ByteSize(usize::MAX))
                .0,
            location_database: location_database.map(|it| from.dir().join(it)),
            tls,
        };
        config.warn(from);

        Some(config)
    }

    fn warn(&self, from: &mut Section<'_>) {
        if !from.environment().is_development() && self.public_url.is_readable() {
            from.warn("PublicUrl", "is no https address; passwords and tokens can be read");
        }
        if !self.public_url.ends_with(&self.base_path) {
            from.warn("PublicUrl", "does not end in Server:BasePath; links may lead nowhere");
        }
    }
}

impl TlsFiles {
    fn from_section(from: &mut Section<'_>) -> Option<Self> {
        let certificate = from.restart("CertificatePath").optional::<PathBuf>();
        let key = from.restart("KeyPath").optional::<PathBuf>();
        match (certificate, key) {
            (Some(certificate), Some(key)) => {
                let dir = from.dir();
                return Some(Self { certificate: dir.join(certificate), key: dir.join(key) });
            }
            (Some(_), None) => from
                .refuse("CertificatePath", Reason::combination("needs Server:Tls:KeyPath beside")),
            (None, Some(_)) => from
                .refuse("KeyPath", Reason::combination("needs Server:Tls:CertificatePath beside")),
            (None, None) => {}
        }

        None
    }
}

/// Returns the configured public URL. It is never taken from a request, whose
/// sender could then choose the target of links in emails.
fn configured_url(from: &mut Section<'_>) -> Option<BaseUrl> {
    if from.environment().is_development() {
        return from.restart("PublicUrl").optional();
    }
    from.restart("PublicUrl").required("set the address under which clients reach the server")
}

fn default_url(address: SocketAddr, is_tls: bool, base_path: &str) -> BaseUrl {
    let scheme = if is_tls { "https" } else { "http" };
    let host = if address.ip().is_unspecified() {
        format!("localhost:{}", address.port())
    } else {
        address.to_string()
    };
    BaseUrl::new(scheme, &host, base_path)
}

/// Server name: a single line of text.
struct ServerName(String);

impl Setting for ServerName {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        let name = text.trim();
        let has_valid_length = (1..=MAX_NAME_CHARS).contains(&name.chars().count());
        if has_valid_length && !name.chars().any(char::is_control) {
            return Ok(Self(name.to_owned()));
        }
        Err(Reason::form("expected a name of 1 to 64 characters in one line"))
    }

    fn format(&self) -> String {
        self.0.clone()
    }
}

/// Value of `Strict-Transport-Security`, or `off`.
struct Hsts(String);

impl Hsts {
    const DEFAULT: &str = "max-age=31536000; includeSubDomains";

    fn policy(&self) -> Option<StrictTransport> {
        StrictTransport::parse(&self.0)
    }
}

impl Setting for Hsts {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        let hsts = Self(text.trim().to_owned());
        if hsts.0 == "off" || hsts.policy().is_some() {
            return Ok(hsts);
        }
        Err(Reason::form("expected `off` or `max-age=<seconds>`, also with `; includeSubDomains`"))
    }

    fn format(&self) -> String {
        self.0.clone()
    }
}

struct BasePath(String);

impl Setting for BasePath {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        let text = text.trim();
        let is_allowed = |it: char| it.is_ascii_alphanumeric() || "-_.~".contains(it);
        let is_segment = |it: &str| !matches!(it, "" | "." | "..") && it.chars().all(is_allowed);
        let path = text.strip_prefix('/').filter(|it| it.split('/').all(is_segment));
        match path {
            Some(_) => Ok(Self(text.to_owned())),
            None if text == "/" => Ok(Self(String::new())),
            None => Err(Reason::form(
                "expected a path such as /pia, with a slash before it and none behind",
            )),
        }
    }

    fn format(&self) -> String {
        self.0.clone()
    }
}
