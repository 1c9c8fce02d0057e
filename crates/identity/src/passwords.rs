//! Passwords: rules, changes, resets and throttling of guesses.

pub(crate) mod changes;
pub(crate) mod resets;
pub(crate) mod rules;
pub(crate) mod throttle;

use std::sync::Arc;

use pia_kernel::{LiveSetting, Secret, SideEffects, Timestamp, UserId};

use crate::people::account::Account;
use crate::people::registration::RegistrationRules;
use crate::ports::{PasswordHasher, PasswordStore};
use crate::violation::Violation;

/// Ports of replacing a password.
#[derive(Clone)]
pub struct PasswordPorts {
    /// Store of passwords; a reset also ends the account's sessions.
    pub store: Arc<dyn PasswordStore>,
    /// Hasher of the new password.
    pub hasher: Arc<dyn PasswordHasher>,
    /// Rules with the minimum length of passwords.
    pub rules: LiveSetting<RegistrationRules>,
}

impl PasswordPorts {
    /// Returns the weakness of a chosen password, if any.
    pub(crate) fn weakness(
        &self,
        password: &Secret<String>,
        account: &Account,
    ) -> Option<Violation> {
        let about = [account.email.as_str(), account.display_name.as_deref().unwrap_or_default()];
        let min_chars = self.rules.get().min_password_chars;
        let weakness = rules::weakness(password.expose(), min_chars, &about);
        weakness.map(|it| it.violation("newPassword"))
    }
}

/// Returns the side effects of ending a session that started with the previous
/// password.
pub(crate) fn end_effects(user: UserId, at: Timestamp) -> SideEffects {
    SideEffects::audit(at, user, "session.ended")
}
