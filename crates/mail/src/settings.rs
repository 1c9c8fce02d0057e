//! Settings of the mail relay and the sender.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use lettre::Address;
use lettre::address::AddressError;
use pia_kernel::{Secret, ascii_domain};

/// Settings of the mail relay and the sender.
#[derive(Debug, Clone)]
pub struct MailSettings {
    /// Host of the relay. Its certificate must be for this name.
    pub host: Host,
    /// TCP port of the relay, usually that of `Security::default_port`.
    pub port: u16,
    /// Encryption of the connection.
    pub security: Security,
    /// Name and password, if the relay requires them.
    pub credentials: Option<(String, Secret<String>)>,
    /// Address in the header `From`, whose domain is also that of the message ids.
    pub from: SenderAddress,
    /// Name that is displayed beside that address.
    pub from_name: String,
    /// Time limit for connecting, and for delivering one email.
    pub timeout: Duration,
    /// PEM file of certificates that are trusted in addition to the system's.
    pub ca: Option<PathBuf>,
}

/// Encryption of the connection. None of them falls back to plaintext.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// STARTTLS is required; a relay without it gets no email.
    StartTls,
    /// TLS from the start.
    Tls,
    /// Plaintext without credentials, for a relay on the same machine.
    None,
}

impl Security {
    /// Returns the usual port of this mode.
    pub fn default_port(self) -> u16 {
        match self {
            Self::StartTls => 587,
            Self::Tls => 465,
            Self::None => 25,
        }
    }
}

/// Host name or IP address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host(String);

/// Error: not a valid host name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a host such as smtp.example.com, without a scheme or a port")]
pub struct InvalidHost;

impl Host {
    /// Returns the configured text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the host is the local machine.
    pub fn is_loopback(&self) -> bool {
        let address = self.0.parse::<std::net::IpAddr>();
        self.0.eq_ignore_ascii_case("localhost") || address.is_ok_and(|it| it.is_loopback())
    }
}

impl FromStr for Host {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        let is_name = text.len() <= 253 && text.split('.').all(is_label);
        if is_name || text.parse::<std::net::IpAddr>().is_ok() {
            return Ok(Self(text.to_owned()));
        }
        Err(InvalidHost)
    }
}

/// Returns whether a text may stand between the dots of a host name.
fn is_label(text: &str) -> bool {
    let mut bytes = text.bytes();
    !text.is_empty() && bytes.all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it))
}

/// Address of the sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SenderAddress(Address);

/// Error: not a valid address of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected an address such as pia@example.com")]
pub struct InvalidAddress;

impl SenderAddress {
    pub(crate) fn address(&self) -> &Address {
        &self.0
    }
}

impl FromStr for SenderAddress {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        address(text).map(Self).map_err(|_err| InvalidAddress)
    }
}

/// Parses an address and converts its domain to the ASCII form, which relays
/// without SMTPUTF8 accept too.
pub(crate) fn address(text: &str) -> Result<Address, AddressError> {
    let address: Address = text.parse()?;
    match ascii_domain(address.domain()) {
        Some(domain) => Address::new(address.user(), domain),
        None => Ok(address),
    }
}

impl fmt::Display for SenderAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address() {
        for text in ["localhost", "smtp.example.com", "mail_1", "192.0.2.1", "::1"] {
            assert_eq!(text.parse::<Host>().unwrap().as_str(), text);
        }
        for text in ["", "smtp://a", "a:25", "a b", "a..b", "a\r\nb", "user@host", "[::1]"] {
            assert_eq!(text.parse::<Host>(), Err(InvalidHost), "{text}");
        }
    }

    #[test]
    fn only_the_local_machine_is_loopback() {
        for (text, is_loopback) in
            [("LocalHost", true), ("127.0.0.9", true), ("::1", true), ("10.0.0.1", false)]
        {
            assert_eq!(text.parse::<Host>().unwrap().is_loopback(), is_loopback, "{text}");
        }
    }

    #[test]
    fn a_sender_is_one_address() {
        assert_eq!(
            "pia@example.com".parse::<SenderAddress>().unwrap().to_string(),
            "pia@example.com"
        );
        assert_eq!(
            "pia@bücher.example".parse::<SenderAddress>().unwrap().to_string(),
            "pia@xn--bcher-kva.example"
        );
        for text in ["", "pia", "Pia <pia@example.com>", "a@b, c@d", "a@b\r\nBcc: c@d"] {
            assert!(text.parse::<SenderAddress>().is_err(), "{text}");
        }
    }
}
