//! The setup of the server: installation of a licence and creation of the
//! first administrator, authorised by a token.
//!
//! `Setup` decides when the token exists (`sync_token`) and implements the ports of
//! the setup pages and of the console's licence page. The file of the token is in
//! `setup/token.rs`, the cached existence of administrators in
//! `setup/administrators.rs`. After the start, what touches the disk runs on
//! blocking threads.

mod administrators;
mod token;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pia_identity::SetupToken;
use pia_kernel::{Secret, Unavailable};
use pia_policy::{InstallError, Licence, LicenceService, SetupState};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::licence::LicenceFile;
use token::{MissingStep, TokenFile};

pub(crate) use administrators::Administrators;

const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Licence, administrators and the token for both. The token exists while no
/// licence is in force or there is no administrator.
#[derive(Clone)]
pub struct Setup {
    licence: Arc<LicenceFile>,
    token: Arc<TokenFile>,
    admins: Arc<Administrators>,
    /// Lock of installation: the second of two concurrent installations finds the
    /// setup completed.
    installing: Arc<Mutex<()>>,
}

impl Setup {
    /// Creates the setup and writes or removes the token as required.
    pub(crate) fn open(
        licence: Arc<LicenceFile>,
        token_path: PathBuf,
        admins: Administrators,
    ) -> Self {
        let token = Arc::new(TokenFile::at(token_path));
        let admins = Arc::new(admins);
        let setup = Self { licence, token, admins, installing: Arc::default() };
        setup.sync_token();
        setup
    }

    /// Checks every second whether the licence was replaced or has ended, and
    /// whether there is an administrator, until stopped.
    pub async fn watch(self, stop: CancellationToken) {
        let mut tick = tokio::time::interval(POLL_INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);

        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = tick.tick() => {}
            }
            // Outside of `select!`, so that a query is not cancelled half-way.
            self.admins.refresh().await;
            let setup = self.clone();
            if let Err(err) = tokio::task::spawn_blocking(move || setup.check()).await {
                tracing::error!(error = %err, "licence watcher failed");
            }
        }
    }

    /// Checks the licence once. Blocks on the disk.
    pub fn check(&self) {
        self.licence.check();
        self.sync_token();
    }

    fn sync_token(&self) {
        match self.licence.setup_state() {
            SetupState::Done if self.admins.exist() => self.token.remove(),
            SetupState::Done => self.token.ensure(MissingStep::Administrator),
            _ => self.token.ensure(MissingStep::Licence),
        }
    }

    fn install_blocking(
        &self,
        token: &Secret<String>,
        text: &[u8],
    ) -> Result<Licence, InstallError> {
        let _guard = self.installing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.licence.setup_state() == SetupState::Done {
            return Err(InstallError::AlreadyLicensed);
        }
        if !self.token.verify(token)? {
            return Err(InstallError::WrongToken);
        }
        self.store_blocking(text)
    }

    fn store_blocking(&self, text: &[u8]) -> Result<Licence, InstallError> {
        let licence = self.licence.store(text)?;
        self.sync_token();
        Ok(licence)
    }
}

#[async_trait]
impl LicenceService for Setup {
    fn setup_state(&self) -> SetupState {
        self.licence.setup_state()
    }

    async fn install(&self, token: &Secret<String>, text: &[u8]) -> Result<Licence, InstallError> {
        let setup = self.clone();
        let token = token.clone();
        let text = text.to_vec();
        tokio::task::spawn_blocking(move || setup.install_blocking(&token, &text))
            .await
            .map_err(|err| Unavailable::new("the licence file", err))?
    }

    async fn replace(&self, text: &[u8]) -> Result<Licence, InstallError> {
        let setup = self.clone();
        let text = text.to_vec();
        tokio::task::spawn_blocking(move || {
            let _guard = setup.installing.lock().unwrap_or_else(PoisonError::into_inner);
            setup.store_blocking(&text)
        })
        .await
        .map_err(|err| Unavailable::new("the licence file", err))?
    }
}

#[async_trait]
impl SetupToken for Setup {
    async fn is_right(&self, candidate: &Secret<String>) -> Result<bool, Unavailable> {
        let token = Arc::clone(&self.token);
        let candidate = candidate.clone();
        tokio::task::spawn_blocking(move || token.verify(&candidate))
            .await
            .map_err(|err| Unavailable::new("the setup token", err))?
    }

    async fn record_administrator(&self) {
        self.admins.record_admin();
        let setup = self.clone();
        if let Err(err) = tokio::task::spawn_blocking(move || setup.sync_token()).await {
            tracing::error!(error = %err, "failed to revoke the setup token");
        }
    }
}

#[cfg(test)]
mod tests;
