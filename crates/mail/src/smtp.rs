//! Delivery of emails to a relay by SMTP.
//!
//! `SmtpRelay::send` takes a connection from `smtp/connections.rs`, sends one
//! email and puts the connection back. `smtp/outcome.rs` decides what a
//! failure means for the email, and for those after it.

mod connections;
mod outcome;

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use lettre::Message;
use lettre::transport::smtp::extension::ClientId;
use pia_kernel::LiveSetting;
use pia_outbox::{Relay, RelayOutcome, RenderedMail};
use tokio::sync::Mutex;

use crate::message::build_message;
use crate::settings::MailSettings;
use connections::{Connection, Connections};
use outcome::{Failure, Step};

/// Relay that speaks SMTP.
///
/// Connections are reused from one email to the next until there is nothing
/// more to send. They are not those of lettre's pool, which reuses a connection
/// that was dropped in mid-dialogue, and reports a relay that rejects this
/// server by the same error as one that rejects an email.
#[derive(Debug)]
pub struct SmtpRelay {
    settings: LiveSetting<Option<MailSettings>>,
    own_name: ClientId,
    /// Connection pool with the settings it was created with.
    current: Mutex<Option<Current>>,
}

#[derive(Debug, Clone)]
struct Current {
    settings: Arc<Option<MailSettings>>,
    connections: Arc<Connections>,
}

impl SmtpRelay {
    /// Creates the relay of `settings`, as they change. It is greeted (EHLO)
    /// with `own_host`, the public host name or address of this server.
    pub fn new(settings: LiveSetting<Option<MailSettings>>, own_host: &str) -> Self {
        let own_name = match own_host.trim_matches(['[', ']']).parse() {
            Ok(IpAddr::V4(address)) => ClientId::Ipv4(address),
            Ok(IpAddr::V6(address)) => ClientId::Ipv6(address),
            Err(_) => ClientId::Domain(own_host.to_owned()),
        };
        Self { settings, own_name, current: Mutex::new(None) }
    }

    /// Returns the connections of the current settings. Those of older settings
    /// are closed once the emails in progress are sent.
    async fn connections(&self) -> Result<Arc<Connections>, Failure> {
        let settings = self.settings.get();
        let mut current = self.current.lock().await;
        if let Some(current) = &*current
            && Arc::ptr_eq(&current.settings, &settings)
        {
            return Ok(Arc::clone(&current.connections));
        }
        let relay_settings = Option::clone(&settings).ok_or_else(Failure::not_configured)?;
        let connections = Arc::new(Connections::new(relay_settings, self.own_name.clone()).await?);
        *current = Some(Current { settings, connections: Arc::clone(&connections) });
        Ok(connections)
    }

    async fn deliver(&self, mail: &RenderedMail) -> Result<(), Failure> {
        let connections = self.connections().await?;
        let settings = connections.settings();
        let message = build_message(mail, settings).map_err(|err| Failure::of_mail(&err))?;
        let mut connection = connections.take().await?;
        let sending = send(&mut connection, &message);
        match tokio::time::timeout(settings.timeout, sending).await {
            Ok(Ok(())) => connections.put_back(connection).await,
            Ok(Err(failure)) => {
                connection.quit().await;
                return Err(failure);
            }
            // A late reply of the relay could be taken for the reply to the
            // next email, so nothing more is read.
            Err(_) => return Err(Failure::timeout(settings.timeout)),
        }

        Ok(())
    }
}

#[async_trait]
impl Relay for SmtpRelay {
    async fn send(&self, mail: &RenderedMail) -> RelayOutcome {
        match self.deliver(mail).await {
            Ok(()) => RelayOutcome::Accepted,
            Err(failure) => failure.outcome(),
        }
    }

    async fn rest(&self) {
        let current = self.current.lock().await.clone();
        if let Some(current) = current {
            current.connections.close().await;
        }
    }
}

async fn send(connection: &mut Connection, message: &Message) -> Result<(), Failure> {
    let envelope = message.envelope();
    let step = |step: Step| move |err| Failure::of_step(step, &err);
    connection.mail_from(envelope).await?;
    for to in envelope.to() {
        connection.rcpt_to(to).await.map_err(step(Step::Recipient))?;
    }
    connection.content(&message.formatted()).await.map_err(step(Step::Content))
}
