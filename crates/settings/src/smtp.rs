//! `Smtp`: the mail relay and the sender.

use std::path::PathBuf;
use std::time::Duration;

use pia_kernel::{Language, Secret};
use pia_mail::{Host, MailSettings, Security, SenderAddress};

use super::error::{Code, Reason};
use super::section::Section;
use super::setting::{Setting, choice};

/// Maximum timeout. Connecting and sending one email may each take this long,
/// and the claim on the email must outlast both.
const MAX_TIMEOUT: Duration = Duration::from_mins(2);

/// Mail relay and sender.
#[derive(Debug, Clone)]
pub struct Smtp {
    /// Relay; `None` if mail is not configured.
    pub relay: Option<MailSettings>,
    /// Language of emails to recipients whose language is unknown.
    pub language: Language,
}

impl Smtp {
    pub(super) fn from_section(from: &mut Section<'_>) -> Self {
        let host = from.reload("Host").optional::<Host>();
        let security = from.reload("Security").or(Security::StartTls);
        let port = from.reload("Port").optional_within(1..=65_535_u32);
        let username = from.reload("Username").optional::<String>();
        let password = from.reload("Password").optional::<Secret<String>>();
        let address = from.reload("From").optional::<SenderAddress>();
        let from_name = from.reload("FromName").or("Pia".to_owned());
        let timeout = from
            .reload("Timeout")
            .within(Duration::from_secs(30), Duration::from_secs(1)..=MAX_TIMEOUT);
        let ca_path = from.reload("CaPath").optional::<PathBuf>();
        let language = from.reload("Language").or(Language::En);

        let credentials = combine_credentials(from, username, password);
        let ca = ca_path.map(|it| from.dir().join(it));
        let relay = combine_sender(from, host, address).map(|(host, address)| MailSettings {
            host,
            port: port
                .and_then(|it| u16::try_from(it).ok())
                .unwrap_or_else(|| security.default_port()),
            security,
            credentials,
            from: address,
            from_name,
            timeout,
            ca,
        });

        if let Some(relay) = &relay {
            warn(from, relay);
        }

        Self { relay, language }
    }
}

/// Combines the relay's host with the sender's address; `None` if mail is not
/// configured. Refuses a host without an address.
fn combine_sender(
    from: &mut Section<'_>,
    host: Option<Host>,
    address: Option<SenderAddress>,
) -> Option<(Host, SenderAddress)> {
    if host.is_some() && address.is_none() && !from.refused("From") {
        let text = "is missing: set the address that mail comes from, as Smtp:Host is set";
        from.refuse("From", Reason::new(Code::Missing, text));
    }
    host.zip(address)
}

/// Combines user name and password. Refuses a user name without a password. Without
/// a user name, a password is not used, so that either can be set or removed alone:
/// the password comes first and goes last.
fn combine_credentials(
    from: &mut Section<'_>,
    username: Option<String>,
    password: Option<Secret<String>>,
) -> Option<(String, Secret<String>)> {
    if username.is_some() && password.is_none() {
        from.refuse("Username", Reason::combination("needs Smtp:Password beside"));
    }
    if password.is_some() && username.is_none() {
        from.warn("Password", "is not used without Smtp:Username");
    }
    username.zip(password)
}

fn warn(from: &mut Section<'_>, relay: &MailSettings) {
    if relay.security == Security::None && !relay.host.is_loopback() {
        from.warn("Security", "mail, and the relay's password, can be read on the way");
    }
}

impl Setting for Host {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        text.trim().parse().map_err(|err: pia_mail::InvalidHost| Reason::form(err.to_string()))
    }

    fn format(&self) -> String {
        self.as_str().to_owned()
    }
}

impl Setting for SenderAddress {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        text.trim().parse().map_err(|err: pia_mail::InvalidAddress| Reason::form(err.to_string()))
    }

    fn format(&self) -> String {
        self.to_string()
    }
}

const SECURITIES: [(&str, Security); 3] =
    [("starttls", Security::StartTls), ("tls", Security::Tls), ("none", Security::None)];

impl Setting for Security {
    const IS_SECRET: bool = false;

    fn choices() -> Vec<(&'static str, Self)> {
        SECURITIES.into()
    }

    fn parse(text: &str) -> Result<Self, Reason> {
        choice(text)
    }

    fn format(&self) -> String {
        let entry = SECURITIES.iter().find(|(_, it)| it == self);
        entry.map(|(name, _)| *name).unwrap_or_default().to_owned()
    }
}

impl Setting for Language {
    const IS_SECRET: bool = false;

    fn choices() -> Vec<(&'static str, Self)> {
        [Self::En, Self::De].map(|it| (it.tag(), it)).into()
    }

    fn parse(text: &str) -> Result<Self, Reason> {
        choice(text)
    }

    fn format(&self) -> String {
        self.tag().to_owned()
    }
}
