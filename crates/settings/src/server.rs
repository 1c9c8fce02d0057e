//! `Server`: where the server is reached, and how much it takes on.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::Duration;

use ipnet::IpNet;
use pia_web::StrictTransport;

use super::base_url::BaseUrl;
use super::byte_size::ByteSize;
use super::fault::Reason;
use super::section::Section;
use super::setting::Setting;

const PORT: u16 = 8080;
/// The longest body that a route takes; with less, it could never be called.
const MAX_NAME_CHARS: usize = 64;
const MAX_BODY_SIZE: ByteSize = ByteSize::mib(32);

/// Addresses of the server.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Address that it listens on.
    pub address: SocketAddr,
    /// Under which address clients and browsers know it, its path included.
    pub public_url: BaseUrl,
    /// Name of the server for people: authenticators show it.
    pub name: String,
    /// URL of the set-up page; without a host where the public address is not
    /// configured.
    pub setup_url: String,
    /// The path before every route: empty, or `/pia`.
    pub base_path: String,
    /// Proxies whose word on the client's address is taken.
    pub trusted_proxies: Vec<IpNet>,
    /// HSTS: never where browsers come without TLS.
    pub strict_transport: StrictTransport,
    /// Number of workers answer requests.
    pub workers: usize,
    /// Time for running requests once the server is asked to
    /// end.
    pub shutdown_timeout: Duration,
    /// Number of connections one worker holds.
    pub max_connections_per_worker: usize,
    /// Number of bytes of bodies are held at once, over all requests.
    pub max_body_memory: usize,
    /// The certificate that it shows, if it speaks TLS itself.
    pub tls: Option<TlsFiles>,
}

/// Paths of a certificate and its key.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The chain, the server's own certificate first, as PEM.
    pub certificate: PathBuf,
    /// Private key, as PEM.
    pub key: PathBuf,
}

/// A single line of text.
struct ServerName(String);

impl Setting for ServerName {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        let name = text.trim();
        let fits = (1..=MAX_NAME_CHARS).contains(&name.chars().count());
        if fits && !name.chars().any(char::is_control) {
            return Ok(Self(name.to_owned()));
        }
        Err(Reason::form("expected a name of 1 to 64 characters in one line"))
    }

    fn format(&self) -> String {
        self.0.clone()
    }
}

/// The value of `Strict-Transport-Security`, or `off`.
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

impl ServerConfig {
    pub(super) fn from_section(from: &mut Section<'_>) -> Option<Self> {
        let cores = available_parallelism().map_or(1, usize::from);
        let host = if from.environment().is_development() {
            Ipv4Addr::LOCALHOST
        } else {
            Ipv4Addr::UNSPECIFIED
        };
        let address = from.restart("Address").or(SocketAddr::from((host, PORT)));
        let base_path = from.restart("BasePath").optional::<BasePath>();
        let base_path = base_path.map(|it| it.0).unwrap_or_default();
        let tls = TlsFiles::from_section(&mut from.section("Tls"));
        let named = named_url(from);
        let known_as = named.as_ref().map_or(base_path.as_str(), BaseUrl::as_str);
        let setup_url = format!("{known_as}/admin/setup");
        let public_url = if from.environment().is_development() {
            named.or_else(|| Some(derived(address, tls.is_some(), &base_path)))
        } else {
            named
        };
        let strict_transport = from.restart("StrictTransport").or(Hsts(Hsts::DEFAULT.to_owned()));
        let by_tls = public_url.as_ref().is_some_and(|it| it.as_str().starts_with("https://"));
        let workers = from.restart("Workers").within(cores, 1..=1024);
        let shutdown = Duration::ZERO..=Duration::from_mins(10);
        let config = Self {
            address,
            public_url: public_url?,
            name: from.restart("Name").or(ServerName("Pia".to_owned())).0,
            setup_url,
            base_path,
            trusted_proxies: from.restart("TrustedProxies").list(),
            strict_transport: strict_transport.policy().filter(|_| by_tls).unwrap_or_default(),
            workers,
            shutdown_timeout: from
                .restart("ShutdownTimeout")
                .within(Duration::from_secs(30), shutdown),
            max_connections_per_worker: from
                .restart("MaxConnections")
                .within(25_000_usize, 1..=10_000_000)
                .div_ceil(workers),
            max_body_memory: from
                .restart("MaxBodyMemory")
                .within(ByteSize::mib(256), MAX_BODY_SIZE..=ByteSize(usize::MAX))
                .0,
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

/// Never taken from a request: whoever sends one could choose where links in
/// mails lead.
fn named_url(from: &mut Section<'_>) -> Option<BaseUrl> {
    if from.environment().is_development() {
        return from.restart("PublicUrl").optional();
    }
    from.restart("PublicUrl").required("set the address under which clients reach the server")
}

fn derived(address: SocketAddr, tls: bool, base_path: &str) -> BaseUrl {
    let scheme = if tls { "https" } else { "http" };
    let host = if address.ip().is_unspecified() {
        format!("localhost:{}", address.port())
    } else {
        address.to_string()
    };
    BaseUrl::new(scheme, &host, base_path)
}

struct BasePath(String);

impl Setting for BasePath {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        let text = text.trim();
        let plain = |it: char| it.is_ascii_alphanumeric() || "-_.~".contains(it);
        let segment = |it: &str| !matches!(it, "" | "." | "..") && it.chars().all(plain);
        let path = text.strip_prefix('/').filter(|it| it.split('/').all(segment));
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
