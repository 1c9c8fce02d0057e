//! Use cases of emails with links: verified addresses, and passwords.

use std::sync::Arc;

use pia_identity::{
    CallerCache, EmailTokenPorts, FactorPorts, FactorSettings, PasswordChanges, PasswordPorts,
    PasswordResets, PasswordThrottleStore, Verification,
};
use pia_kernel::{Clock, LiveSetting};
use pia_storage::Database;
use pia_storage_identity::{SqlEmailTokens, SqlPasswords};

use pia_settings::LiveConfig;

/// Use cases of emails with links.
#[derive(Clone)]
pub(super) struct EmailServices {
    pub(super) verification: Verification,
    pub(super) resets: PasswordResets,
    pub(super) passwords: PasswordChanges,
}

impl EmailServices {
    pub(super) fn compose(
        (config, db): (&LiveConfig, &Database),
        mail: &LiveSetting<bool>,
        (factors, settings): (&FactorPorts, &LiveSetting<FactorSettings>),
        (standings, guesses): (&CallerCache, &Arc<dyn PasswordThrottleStore>),
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let links = EmailTokenPorts {
            accounts: Arc::clone(&factors.accounts),
            tokens: Arc::new(SqlEmailTokens::new(db.clone())),
            attempts: Arc::clone(&factors.attempts),
            mail: mail.clone(),
            public_url: config.latest().server.public_url.as_str().to_owned(),
            clock: Arc::clone(clock),
        };
        let passwords = PasswordPorts {
            store: Arc::new(SqlPasswords::new(db.clone())),
            hasher: Arc::clone(&factors.hasher),
            rules: config.follow(|it| it.local_auth.registration.clone()),
        };
        let owed = config.follow(|it| it.local_auth.accounts);
        Self {
            verification: Verification::new(links.clone(), owed, standings.clone()),
            resets: PasswordResets::new(
                links,
                passwords.clone(),
                Arc::clone(guesses),
                standings.clone(),
            ),
            passwords: PasswordChanges::new(
                (factors.clone(), settings.clone()),
                passwords,
                standings.clone(),
                Arc::clone(clock),
            ),
        }
    }
}
