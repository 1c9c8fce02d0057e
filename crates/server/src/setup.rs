//! Setting the server up: who may give it a licence, and what follows.

mod token;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pia_kernel::{Secret, Unavailable};
use pia_policy::{InstallError, Licence, LicenceDesk, SetupStanding};
use tokio::time::MissedTickBehavior;

use crate::licence::LicenceFile;
use token::SetupToken;

const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The licence and the token by which it is given, kept in step: while no
/// licence is in force there is a token, and otherwise none.
#[derive(Clone)]
pub struct Setup {
    licence: Arc<LicenceFile>,
    token: Arc<SetupToken>,
    /// Of two who install at once, the second finds that set-up is over.
    installing: Arc<Mutex<()>>,
}

impl Setup {
    /// Writes the token or removes it, whichever the licence asks for.
    pub fn open(licence: Arc<LicenceFile>, token_path: PathBuf) -> Self {
        let token = Arc::new(SetupToken::at(token_path));
        let setup = Self { licence, token, installing: Arc::default() };
        setup.follow();
        setup
    }

    /// Looks once a second whether the licence was replaced or has ended, for
    /// as long as it is polled.
    pub async fn watch(self) {
        let mut tick = tokio::time::interval(LOOK_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            let setup = self.clone();
            if let Err(err) = tokio::task::spawn_blocking(move || setup.look()).await {
                tracing::error!(error = %err, "the licence file could not be watched");
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
            SetupStanding::Done => self.token.end(),
            _ => self.token.keep(),
        }
    }

    fn take(&self, token: &Secret<String>, text: &[u8]) -> Result<Licence, InstallError> {
        let _alone = self.installing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.licence.standing() == SetupStanding::Done {
            return Err(InstallError::AlreadyLicensed);
        }
        if !self.token.verify(token)? {
            return Err(InstallError::WrongToken);
        }
        let licence = self.licence.store(text)?;
        self.token.end();
        Ok(licence)
    }
}

#[async_trait]
impl LicenceDesk for Setup {
    fn standing(&self) -> SetupStanding {
        self.licence.standing()
    }

    async fn install(&self, token: &Secret<String>, text: &[u8]) -> Result<Licence, InstallError> {
        let (setup, token, text) = (self.clone(), token.clone(), text.to_vec());
        tokio::task::spawn_blocking(move || setup.take(&token, &text))
            .await
            .map_err(|err| Unavailable::new("the licence file", err))?
    }
}

#[cfg(test)]
mod tests;
