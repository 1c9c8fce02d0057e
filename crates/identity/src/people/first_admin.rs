//! Making the first administrator of a server that has none.

use std::sync::Arc;

use pia_kernel::{Clock, LiveSetting, Secret, SideEffects, Unavailable, UserId};

use crate::people::account::{Account, CustomerType};
use crate::people::registration::{RegistrationForm, RegistrationRules, check};
use crate::people::role::Role;
use crate::ports::{
    FirstAdminOutcome, FirstAdminStore, NewAccount, PasswordHasher, SeatLimits, Seats, SetupToken,
};
use crate::violation::Violation;

/// Form of the person who sets the server up.
#[derive(Debug, Clone)]
pub struct NewAdmin {
    /// Their address.
    pub email: String,
    /// The password they choose, as they typed it.
    pub password: Secret<String>,
    /// Display name.
    pub display_name: Option<String>,
}

/// Reasons why no administrator was made.
#[derive(Debug, thiserror::Error)]
pub enum FirstAdminError {
    /// Server has an administrator already.
    #[error("the server has an administrator; they can make others, and so can `pia-server admin`")]
    AlreadySetUp,
    /// Setup token is wrong.
    #[error("the setup token is wrong: it is in the file that Setup:TokenPath names")]
    WrongToken,
    /// Something is filled in wrongly; all that is wrong is reported at once.
    #[error("the account is not filled in correctly")]
    Invalid(Vec<Violation>),
    /// Address belongs to an account, which is not promoted by someone who need not be its owner.
    #[error(
        "there is an account with this address; if it is your own, `pia-server admin grant`, \
         called where the server runs, makes you an administrator, but whoever registered it \
         first would be one too: choose another address if in doubt"
    )]
    EmailTaken,
    /// Registration is suspended.
    #[error("no accounts are made while FreeTier:Suspended is set")]
    Suspended,
    /// The licence has no seat left.
    #[error("the licence has no seat left for this account")]
    SeatsTaken,
    /// Something that is needed did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Ports of the use case.
#[derive(Clone)]
pub struct FirstAdminPorts {
    /// Store of the account.
    pub store: Arc<dyn FirstAdminStore>,
    /// Hashing of the password.
    pub hasher: Arc<dyn PasswordHasher>,
    /// Number of accounts there may be.
    pub seats: Arc<dyn Seats>,
    /// Check that the person may set the server up.
    pub token: Arc<dyn SetupToken>,
}

/// Makes the first administrator, for whoever knows the setup token.
#[derive(Clone)]
pub struct FirstAdmin {
    ports: FirstAdminPorts,
    rules: LiveSetting<RegistrationRules>,
    clock: Arc<dyn Clock>,
}

impl FirstAdmin {
    /// Over these ports. Of `rules` only what passwords must be counts here, and
    /// whether accounts are made at all: the others are for those who come
    /// later.
    pub fn new(
        ports: FirstAdminPorts,
        rules: LiveSetting<RegistrationRules>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { ports, rules, clock }
    }

    /// Returns the number of characters their password must have.
    pub fn fewest_password_chars(&self) -> usize {
        self.rules.get().fewest_password_chars
    }

    /// Returns whether the server has no administrator yet.
    pub async fn is_missing(&self) -> Result<bool, Unavailable> {
        Ok(!self.ports.store.exists().await?)
    }

    /// Makes the administrator. Who can read the token can read the database,
    /// so their word on their address is taken.
    pub async fn create_first_admin(
        &self,
        token: &Secret<String>,
        admin: NewAdmin,
    ) -> Result<Account, FirstAdminError> {
        if self.ports.store.exists().await? {
            return Err(FirstAdminError::AlreadySetUp);
        }
        if !self.ports.token.is_right(token).await? {
            // It ends with the first administrator, who may just have come.
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
        let new = self.account(admin).await?;
        let account = new.account.clone();
        let effects = SideEffects::audit(account.created_at, account.user, "account.registered")
            .and(SideEffects::audit(account.created_at, account.user, "role.admin_granted"));
        let limits = SeatLimits::from_seats(&*self.ports.seats);
        match self.ports.store.create_first_admin(new, limits, effects).await? {
            FirstAdminOutcome::Stored => {}
            FirstAdminOutcome::AlreadySetUp => return Err(FirstAdminError::AlreadySetUp),
            FirstAdminOutcome::EmailTaken => return Err(FirstAdminError::EmailTaken),
            FirstAdminOutcome::SeatsTaken => return Err(FirstAdminError::SeatsTaken),
        }
        self.ports.token.administered().await;
        Ok(account)
    }

    async fn account(&self, admin: NewAdmin) -> Result<NewAccount, FirstAdminError> {
        let NewAdmin { email, password, display_name } = admin;
        let customer = CustomerType::NotDeclared;
        let person = RegistrationForm {
            email,
            password,
            display_name,
            customer,
            company_name: None,
            invitation: None,
        };
        let fewest_password_chars = self.rules.get().fewest_password_chars;
        let rules = RegistrationRules { fewest_password_chars, ..RegistrationRules::default() };
        let checked = check(&person, &rules).map_err(FirstAdminError::Invalid)?;
        let password_hash = self.ports.hasher.hash(person.password).await?;
        let now = self.clock.now();
        let account = Account {
            display_name: checked.display_name,
            role: Role::Admin,
            email_verified_at: Some(now),
            ..Account::local(UserId::generate(), checked.email, now)
        };
        Ok(NewAccount::local(account, password_hash))
    }
}

#[cfg(test)]
mod tests;
