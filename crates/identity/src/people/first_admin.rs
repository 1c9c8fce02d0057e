//! Creation of the first administrator of a server.
//!
//! The setup pages of `console` call `create_first_admin` with the token from
//! the file at `Setup:TokenPath`. The store repeats the check for an
//! administrator, since two people may submit the form at once. Further
//! administrators come from `roles.rs` and `invitations.rs`.

use std::sync::Arc;

use pia_kernel::{Clock, LiveSetting, Secret, SideEffects, Unavailable, UserId};

use crate::people::account::{Account, CustomerType};
use crate::people::registration::{RegistrationForm, RegistrationRules, check};
use crate::people::role::Role;
use crate::ports::{
    FirstAdminOutcome, FirstAdminStore, NewAccount, PasswordHasher, SeatLimits, Seats, SetupToken,
};
use crate::violation::Violation;

/// Form of the server's first administrator.
#[derive(Debug, Clone)]
pub struct NewAdmin {
    /// Email address, as typed.
    pub email: String,
    /// Chosen password, as typed.
    pub password: Secret<String>,
    /// Name that others see; optional.
    pub display_name: Option<String>,
}

/// Errors of creating the first administrator.
#[derive(Debug, thiserror::Error)]
pub enum FirstAdminError {
    /// Server has an administrator already.
    #[error(
        "the server has an administrator; create others in the console or with `pia-server admin`"
    )]
    AlreadySetUp,
    /// Setup token is not this server's.
    #[error("the setup token is wrong; it is in the file at Setup:TokenPath")]
    WrongToken,
    /// Form has these violations, all reported at once.
    #[error("the account is invalid")]
    Invalid(Vec<Violation>),
    /// Address belongs to an account. That is not promoted, as the caller may not be its owner.
    #[error(
        "an account with this address exists; if you created it, make it an administrator with \
         `pia-server admin grant` on the server, otherwise choose another address"
    )]
    EmailTaken,
    /// Operator has suspended registration for everyone.
    #[error("no accounts can be created while FreeTier:Suspended is set")]
    Suspended,
    /// Licence has no seat left.
    #[error("all seats of the licence are taken")]
    SeatsTaken,
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Ports of creating the first administrator.
#[derive(Clone)]
pub struct FirstAdminPorts {
    /// Store that creates the account only if there is no active administrator.
    pub store: Arc<dyn FirstAdminStore>,
    /// Hasher of the chosen password.
    pub hasher: Arc<dyn PasswordHasher>,
    /// Numbers of accounts that the licence allows.
    pub seats: Arc<dyn Seats>,
    /// Check of the setup token.
    pub token: Arc<dyn SetupToken>,
}

/// Creation of the first administrator, with the setup token.
#[derive(Clone)]
pub struct FirstAdmin {
    ports: FirstAdminPorts,
    rules: LiveSetting<RegistrationRules>,
    clock: Arc<dyn Clock>,
}

impl FirstAdmin {
    /// Creates the use case. Of `rules` only those for passwords and the suspension apply.
    pub fn new(
        ports: FirstAdminPorts,
        rules: LiveSetting<RegistrationRules>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { ports, rules, clock }
    }

    /// Returns the minimum number of characters of a password.
    pub fn min_password_chars(&self) -> usize {
        self.rules.get().min_password_chars
    }

    /// Returns whether the server has no administrator yet.
    pub async fn is_missing(&self) -> Result<bool, Unavailable> {
        Ok(!self.ports.store.exists().await?)
    }

    /// Creates the administrator. Whoever can read the token can read the database, so the address
    /// counts as verified.
    pub async fn create_first_admin(
        &self,
        token: &Secret<String>,
        admin: NewAdmin,
    ) -> Result<Account, FirstAdminError> {
        if self.ports.store.exists().await? {
            return Err(FirstAdminError::AlreadySetUp);
        }
        if !self.ports.token.is_right(token).await? {
            // The token ends with the first administrator, who may just have been created.
            let is_late = self.ports.store.exists().await?;
            return Err(if is_late {
                FirstAdminError::AlreadySetUp
            } else {
                FirstAdminError::WrongToken
            });
        }
        if self.rules.get().suspended {
            return Err(FirstAdminError::Suspended);
        }

        let new_account = self.account(admin).await?;
        let account = new_account.account.clone();
        let effects = SideEffects::audit(account.created_at, account.user, "account.registered")
            .and(SideEffects::audit(account.created_at, account.user, "role.admin_granted"));
        let limits = SeatLimits::from_seats(&*self.ports.seats);
        match self.ports.store.create_first_admin(new_account, limits, effects).await? {
            FirstAdminOutcome::Stored => {}
            FirstAdminOutcome::AlreadySetUp => return Err(FirstAdminError::AlreadySetUp),
            FirstAdminOutcome::EmailTaken => return Err(FirstAdminError::EmailTaken),
            FirstAdminOutcome::SeatsTaken => return Err(FirstAdminError::SeatsTaken),
        }

        self.ports.token.record_administrator().await;

        Ok(account)
    }

    /// Returns the account of a valid form. Rules for who may register do not apply.
    async fn account(&self, admin: NewAdmin) -> Result<NewAccount, FirstAdminError> {
        let NewAdmin { email, password, display_name } = admin;
        let customer = CustomerType::NotDeclared;
        let form = RegistrationForm {
            email,
            password,
            display_name,
            customer,
            company_name: None,
            invitation: None,
        };

        let min_password_chars = self.rules.get().min_password_chars;
        let rules = RegistrationRules { min_password_chars, ..RegistrationRules::default() };
        let valid_form = check(&form, &rules).map_err(FirstAdminError::Invalid)?;
        let password_hash = self.ports.hasher.hash(form.password).await?;
        let now = self.clock.now();
        let account = Account {
            display_name: valid_form.display_name,
            role: Role::Admin,
            email_verified_at: Some(now),
            ..Account::local(UserId::generate(), valid_form.email, now)
        };

        Ok(NewAccount::local(account, password_hash))
    }
}

#[cfg(test)]
mod tests;
