//! Connection to PostgreSQL: server, user and TLS.
//!
//! `parse` reads any of the three forms into pairs, maps their names to libpq's
//! (`NAMES`), and builds a configuration of tokio-postgres. TLS is taken out of it:
//! `tls.rs` and `postgres.rs` implement the modes.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::connection_string::{self, Setting, decoded, folded};
use crate::error::TargetError;
use crate::tls::{Roots, TlsMode, TlsSettings};

/// Default application name.
const APPLICATION: &str = "pia-server";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time after which a dead peer is noticed, approximately.
const SILENCE: Duration = Duration::from_secs(30);

/// Names that one setting has in the three forms, as [`folded`].
const NAMES: [(&str, &[&str]); 19] = [
    ("host", &["host", "server"]),
    ("hostaddr", &["hostaddr"]),
    ("port", &["port"]),
    ("dbname", &["dbname", "database", "db"]),
    ("user", &["user", "username", "userid", "uid"]),
    ("password", &["password", "pwd", "psw"]),
    ("application_name", &["applicationname"]),
    ("connect_timeout", &["connecttimeout", "timeout"]),
    ("options", &["options"]),
    ("sslmode", &["sslmode"]),
    ("sslrootcert", &["sslrootcert", "rootcertificate"]),
    ("target_session_attrs", &["targetsessionattrs", "targetsessionattributes"]),
    ("channel_binding", &["channelbinding"]),
    ("tcp_user_timeout", &["tcpusertimeout"]),
    ("keepalives", &["keepalives"]),
    ("keepalives_idle", &["keepalivesidle"]),
    ("keepalives_interval", &["keepalivesinterval"]),
    ("search_path", &["searchpath"]),
    ("max_pool_size", &["maximumpoolsize", "maxpoolsize"]),
];

/// Keywords of .NET's and libpq's connection strings that are ignored.
/// `Trust Server Certificate` is among them: the mode alone decides what is
/// verified.
const IGNORED: [&str; 22] = [
    "autoprepareminusages",
    "cancellationtimeout",
    "commandtimeout",
    "connectionidlelifetime",
    "connectionlifetime",
    "connectionpruninginterval",
    "enlist",
    "gssencmode",
    "gssencryptionmode",
    "includeerrordetail",
    "keepalive",
    "logparameters",
    "maxautoprepare",
    "minimumpoolsize",
    "minpoolsize",
    "multiplexing",
    "noresetonclose",
    "persistsecurityinfo",
    "pooling",
    "sslsni",
    "tcpkeepalive",
    "trustservercertificate",
];

/// Database on a server.
#[derive(Clone, PartialEq)]
pub(crate) struct PostgresTarget {
    /// Configuration without TLS.
    pub(crate) config: Config,
    pub(crate) tls: TlsSettings,
    /// Maximum time to open a connection, all attempts included.
    pub(crate) connect_timeout: Duration,
    /// Maximum number of connections that the string allows.
    pub(crate) max: Option<NonZeroUsize>,
}

impl PostgresTarget {
    /// Parses a URL, libpq's pairs or .NET's.
    pub(crate) fn parse(text: &str) -> Result<Self, TargetError> {
        let scheme = text.split_once("://").map(|(scheme, address)| (folded(scheme), address));
        let pairs = match scheme {
            Some((scheme, address)) if ["postgres", "postgresql"].contains(&scheme.as_str()) => {
                url(address)?
            }
            Some((scheme, _)) if !scheme.contains('=') => {
                return Err(TargetError::OtherProvider("postgresql"));
            }
            _ => connection_string::parse_settings(text)?,
        };
        Self::new(settings_by_name(pairs)?)
    }

    /// Returns the user name, if the string has one.
    pub(crate) fn user(&self) -> Option<&str> {
        self.config.get_user()
    }

    fn new(mut settings: BTreeMap<&'static str, String>) -> Result<Self, TargetError> {
        let mode = settings.remove("sslmode");
        let roots = settings.remove("sslrootcert");
        let tls = tls_settings(mode.as_deref(), roots.as_deref())?;
        let max = settings
            .remove("max_pool_size")
            .map(|it| it.parse())
            .transpose()
            .or(Err(TargetError::Value("Maximum Pool Size")))?;

        if let Some(path) = settings.remove("search_path") {
            let escaped_path = path.replace('\\', r"\\").replace(' ', r"\ ");
            let options = settings.remove("options").unwrap_or_default();
            settings.insert(
                "options",
                format!("{options} -c search_path={escaped_path}").trim().to_owned(),
            );
        }

        if !settings.contains_key("host") {
            // The certificate is compared with the address.
            let address = settings.get("hostaddr").ok_or(TargetError::Missing("host"))?;
            settings.insert("host", address.clone());
        }

        let mut config = build_config(&settings)?;
        if config.get_application_name().is_none() {
            config.application_name(APPLICATION);
        }

        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(SILENCE);
        }

        if !settings.contains_key("keepalives_idle") {
            config.keepalives_idle(SILENCE);
        }

        let connect_timeout = config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT);
        config.ssl_mode(SslMode::Disable);

        Ok(Self { config, tls, connect_timeout, max })
    }
}

/// Returns the settings by libpq's names; the last of a name wins.
fn settings_by_name(pairs: Vec<Setting>) -> Result<BTreeMap<&'static str, String>, TargetError> {
    let mut settings = BTreeMap::new();
    for Setting { number, name, value } in pairs {
        let known = NAMES.iter().find(|(_, names)| names.contains(&name.as_str()));
        match known {
            Some(("host", _)) if !value.split(',').all(is_host) => {
                return Err(TargetError::Value("host"));
            }
            Some((name, _)) => drop(settings.insert(*name, value)),
            None if IGNORED.contains(&name.as_str()) => {}
            None => return Err(TargetError::Unknown(number)),
        }
    }

    Ok(settings)
}

/// Returns whether this can be a host's name, an address or the folder of a
/// socket. A misparsed string must not end up here with a password.
fn is_host(text: &str) -> bool {
    let name = |it: char| it.is_alphanumeric() || "-._".contains(it);
    let folder = text.starts_with('/') && !text.contains([';', '=', '@']);
    folder
        || (!text.is_empty() && text.chars().all(name))
        || text.parse::<std::net::IpAddr>().is_ok()
}

/// Builds the configuration of tokio-postgres, which must accept each setting.
fn build_config(settings: &BTreeMap<&'static str, String>) -> Result<Config, TargetError> {
    let mut text = String::new();
    for (name, value) in settings {
        let pair = format!("{name}='{}' ", value.replace('\\', r"\\").replace('\'', r"\'"));
        if value.contains('\0') || pair.parse::<Config>().is_err() {
            return Err(TargetError::Value(name));
        }
        text.push_str(&pair);
    }
    text.parse().or(Err(TargetError::Form))
}

fn tls_settings(mode_name: Option<&str>, roots: Option<&str>) -> Result<TlsSettings, TargetError> {
    let mode = match mode_name.map(folded).as_deref() {
        None => None,
        Some("disable") => Some(TlsMode::Disable),
        // libpq's `allow` ends the same way, it only begins without TLS.
        Some("prefer" | "allow") => Some(TlsMode::Prefer),
        Some("require") => Some(TlsMode::Require),
        Some("verifyca") => Some(TlsMode::VerifyCa),
        Some("verifyfull") => Some(TlsMode::VerifyFull),
        Some(_) => return Err(TargetError::Value("sslmode")),
    };

    match (mode, roots) {
        (_, Some("")) => Err(TargetError::Value("sslrootcert")),
        (None | Some(TlsMode::VerifyFull), Some("system")) => {
            Ok(TlsSettings { mode: TlsMode::VerifyFull, roots: Roots::System })
        }
        (_, Some("system")) => Err(TargetError::SystemRootsUnnamed),
        (Some(TlsMode::Require), Some(file)) => {
            Ok(TlsSettings { mode: TlsMode::VerifyCa, roots: Roots::File(file.into()) })
        }
        (mode, Some(file)) => {
            Ok(TlsSettings { mode: mode.unwrap_or_default(), roots: Roots::File(file.into()) })
        }
        (mode, None) => Ok(TlsSettings { mode: mode.unwrap_or_default(), roots: Roots::System }),
    }
}

/// Parses the settings after `postgres://`.
fn url(text: &str) -> Result<Vec<Setting>, TargetError> {
    let (address, query) = text.split_once('?').unwrap_or((text, ""));
    let (authority, database) = address.split_once('/').unwrap_or((address, ""));
    let (userinfo, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));

    let mut names = Vec::new();
    let mut ports = Vec::new();
    let hosts: Vec<&str> = if hosts.is_empty() { Vec::new() } else { hosts.split(',').collect() };
    for host in hosts {
        let (name, port) = match host.strip_prefix('[') {
            Some(bracketed) => bracketed.split_once(']').ok_or(TargetError::Form)?,
            None => host.split_at(host.find(':').unwrap_or(host.len())),
        };
        names.push(decoded(name)?);
        ports.push(match port.strip_prefix(':') {
            Some(port) => port,
            None if port.is_empty() => "5432",
            None => return Err(TargetError::Form),
        });
    }

    let parts = [
        ("user", decoded(user)?),
        ("password", decoded(password)?),
        ("host", names.join(",")),
        ("port", ports.join(",")),
        ("dbname", decoded(database)?),
    ];
    let present = parts.into_iter().filter(|(_, value)| !value.is_empty());
    let mut pairs: Vec<_> = present.map(|(name, value)| Setting::new(0, name, value)).collect();
    pairs.extend(connection_string::query(query)?);
    Ok(pairs)
}

/// Omits the password, and settings that may contain one.
impl fmt::Debug for PostgresTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |host: &Host| match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        };
        f.debug_struct("PostgresTarget")
            .field("hosts", &self.config.get_hosts().iter().map(name).collect::<Vec<_>>())
            .field("ports", &self.config.get_ports())
            .field("database", &self.config.get_dbname())
            .field("user", &self.config.get_user())
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
