//! Setting the server up: who may give it a licence and make its first
//! administrator, and what follows.

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

const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Licence, administrators and the token for both, stored in step: while no
/// licence is in force or nobody is administrator there is a token, and
/// otherwise none.
#[derive(Clone)]
pub struct Setup {
    licence: Arc<LicenceFile>,
    token: Arc<TokenFile>,
    admins: Arc<Administrators>,
    /// Lock of installation: of two at once, the second finds setup completed.
    installing: Arc<Mutex<()>>,
}

impl Setup {
    /// Writes the token or removes it, whichever is requested.
    pub(crate) fn open(
        licence: Arc<LicenceFile>,
        token_path: PathBuf,
        admins: Administrators,
    ) -> Self {
        let (token, admins) = (Arc::new(TokenFile::at(token_path)), Arc::new(admins));
        let setup = Self { licence, token, admins, installing: Arc::default() };
        setup.follow();
        setup
    }

    /// Looks once a second whether the licence was replaced or has ended, and
    /// whether there is an administrator, until stopped.
    pub async fn watch(self, stop: CancellationToken) {
        let mut tick = tokio::time::interval(LOOK_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = tick.tick() => {}
            }
            // Beside no `select!`: a query is not cut half-way.
            self.admins.look_again().await;
            let setup = self.clone();
            if let Err(err) = tokio::task::spawn_blocking(move || setup.look()).await {
                tracing::error!(error = %err, "licence watcher failed");
            }
        }
    }

    /// Looks once. It waits for the disk.
    pub fn look(&self) {
        self.licence.check();
        self.follow();
    }

    fn follow(&self) {
        match self.licence.standing() {
            SetupState::Done if self.admins.are_there() => self.token.end(),
            SetupState::Done => self.token.keep(MissingStep::Administrator),
            _ => self.token.keep(MissingStep::Licence),
        }
    }

    fn take(&self, token: &Secret<String>, text: &[u8]) -> Result<Licence, InstallError> {
        let _alone = self.installing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.licence.standing() == SetupState::Done {
            return Err(InstallError::AlreadyLicensed);
        }
        if !self.token.verify(token)? {
            return Err(InstallError::WrongToken);
        }
        let licence = self.licence.store(text)?;
        self.follow();
        Ok(licence)
    }
}

#[async_trait]
impl LicenceService for Setup {
    fn setup_state(&self) -> SetupState {
        self.licence.standing()
    }

    async fn install(&self, token: &Secret<String>, text: &[u8]) -> Result<Licence, InstallError> {
        let (setup, token, text) = (self.clone(), token.clone(), text.to_vec());
        tokio::task::spawn_blocking(move || setup.take(&token, &text))
            .await
            .map_err(|err| Unavailable::new("the licence file", err))?
    }
}

#[async_trait]
impl SetupToken for Setup {
    async fn is_right(&self, candidate: &Secret<String>) -> Result<bool, Unavailable> {
        let (token, candidate) = (Arc::clone(&self.token), candidate.clone());
        tokio::task::spawn_blocking(move || token.verify(&candidate))
            .await
            .map_err(|err| Unavailable::new("the setup token", err))?
    }

    async fn administered(&self) {
        self.admins.appeared();
        let setup = self.clone();
        if let Err(err) = tokio::task::spawn_blocking(move || setup.follow()).await {
            tracing::error!(error = %err, "failed to revoke the setup token");
        }
    }
}

#[cfg(test)]
mod tests;
