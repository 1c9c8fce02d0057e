//! Connections to one relay.
//!
//! A delivery begins with `take` and ends with `put_back`, or without it
//! after a failure: a connection whose dialogue was interrupted is not used
//! again. Other settings get other `Connections`.

use std::time::Duration;

use lettre::Address;
use lettre::address::Envelope;
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{
    AsyncSmtpConnection, Certificate, TlsParameters, TlsParametersBuilder,
};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::{ClientId, Extension, MailParameter};
use tokio::sync::Mutex;

use super::outcome::{Failure, Step};
use crate::settings::{MailSettings, Security};

/// Time limit for closing a connection.
const QUIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Connections to one relay, with one set of settings.
pub(super) struct Connections {
    settings: MailSettings,
    tls: Option<TlsParameters>,
    own_name: ClientId,
    idle: Mutex<Vec<Connection>>,
}

/// Connection that is ready for the next email.
pub(super) struct Connection(AsyncSmtpConnection);

impl std::fmt::Debug for Connections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connections").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Connections {
    pub(super) async fn new(settings: MailSettings, own_name: ClientId) -> Result<Self, Failure> {
        let tls = match settings.security {
            Security::None => None,
            Security::StartTls | Security::Tls => Some(build_tls(&settings).await?),
        };
        Ok(Self { settings, tls, own_name, idle: Mutex::default() })
    }

    pub(super) fn settings(&self) -> &MailSettings {
        &self.settings
    }

    /// Returns an idle connection that still works, or a new one.
    pub(super) async fn take(&self) -> Result<Connection, Failure> {
        let limit = self.settings.timeout;
        match tokio::time::timeout(limit, self.open_or_idle()).await {
            Ok(connection) => connection,
            Err(_) => Err(Failure::timeout(limit)),
        }
    }

    /// Returns a connection to the pool after a complete delivery.
    pub(super) async fn put_back(&self, connection: Connection) {
        self.idle.lock().await.push(connection);
    }

    /// Closes the idle connections.
    pub(super) async fn close(&self) {
        let idle = std::mem::take(&mut *self.idle.lock().await);
        for connection in idle {
            connection.quit().await;
        }
    }

    async fn open_or_idle(&self) -> Result<Connection, Failure> {
        loop {
            let idle = self.idle.lock().await.pop();
            let Some(mut connection) = idle else { break };
            if connection.0.test_connected().await {
                return Ok(connection);
            }
        }
        self.open().await
    }

    async fn open(&self) -> Result<Connection, Failure> {
        let MailSettings { host, port, security, credentials, timeout, .. } = &self.settings;
        let address = (host.as_str(), *port);
        let wrapped = if *security == Security::Tls { self.tls.clone() } else { None };
        let opening = AsyncSmtpConnection::connect_tokio1(
            address,
            Some(*timeout),
            &self.own_name,
            wrapped,
            None,
        );

        let entry_error = |err| Failure::of_step(Step::Entry, &err);
        let mut connection = opening.await.map_err(entry_error)?;
        if let (Security::StartTls, Some(tls)) = (security, &self.tls) {
            connection.starttls(tls.clone(), &self.own_name).await.map_err(entry_error)?;
        }

        if let Some((name, password)) = credentials {
            let credentials = Credentials::new(name.clone(), password.expose().clone());
            let mechanisms = [Mechanism::Plain, Mechanism::Login];
            connection.auth(&mechanisms, &credentials).await.map_err(entry_error)?;
        }

        Ok(Connection(connection))
    }
}

impl Connection {
    /// Sends the sender's address. A relay that rejects it would reject that of
    /// any other email; one that does not support the recipient's address is
    /// reported separately.
    pub(super) async fn mail_from(&mut self, envelope: &Envelope) -> Result<(), Failure> {
        let mut parameters = Vec::new();
        let mut addresses = envelope.to().iter().chain(envelope.from());
        if !addresses.all(|it| AsRef::<str>::as_ref(it).is_ascii()) {
            if !self.0.server_info().supports_feature(Extension::SmtpUtfEight) {
                return Err(Failure::unsupported_address());
            }
            parameters.push(MailParameter::SmtpUtfEight);
        }

        self.0
            .command(Mail::new(envelope.from().cloned(), parameters))
            .await
            .map(drop)
            .map_err(|err| Failure::of_step(Step::Sender, &err))
    }

    /// Sends the recipient's address.
    pub(super) async fn rcpt_to(&mut self, to: &Address) -> Result<(), Error> {
        self.0.command(Rcpt::new(to.clone(), Vec::new())).await.map(drop)
    }

    /// Sends the content.
    pub(super) async fn content(&mut self, message: &[u8]) -> Result<(), Error> {
        self.0.command(Data).await?;
        self.0.message(message).await.map(drop)
    }

    /// Closes the connection with QUIT, within a time limit.
    pub(super) async fn quit(mut self) {
        drop(tokio::time::timeout(QUIT_TIMEOUT, self.0.abort()).await);
    }
}

/// Builds TLS parameters that trust the system's certificates and those of the
/// file.
async fn build_tls(settings: &MailSettings) -> Result<TlsParameters, Failure> {
    let mut builder = TlsParametersBuilder::new(settings.host.as_str().to_owned());
    if let Some(path) = &settings.ca {
        let pem = tokio::fs::read(path).await.map_err(|err| Failure::certificates(&err))?;
        let certificate = Certificate::from_pem(&pem).map_err(|err| Failure::certificates(&err))?;
        builder = builder.add_root_certificate(certificate);
    }

    // Building loads all certificates of the system.
    match tokio::task::spawn_blocking(move || builder.build()).await {
        Ok(parameters) => parameters.map_err(|err| Failure::certificates(&err)),
        Err(err) => Err(Failure::certificates(&err)),
    }
}
