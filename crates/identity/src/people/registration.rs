//! Making an account of one's own, with a password.

use std::sync::Arc;

use pia_kernel::{Clock, LiveSetting, Secret, SideEffects, Unavailable, UserId};

use crate::passwords;
use crate::people;
use crate::people::account::{Account, CustomerType};
use crate::people::verification::Verification;
use crate::ports::{
    AccountStore, NewAccount, PasswordHasher, PresentedInvitation, Registered, Seats,
};
use crate::violation::{Violation, name};

/// People who may register on their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RegistrationPolicy {
    /// Everyone who reaches the server.
    #[default]
    Open,
    /// People with an invitation may register.
    Invitation,
    /// Registration is closed.
    Closed,
}

/// Operator's rules for registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistrationRules {
    /// People who may register.
    pub policy: RegistrationPolicy,
    /// The domains their addresses must have; any if there are none.
    pub allowed_domains: Vec<String>,
    /// True if users must declare if they are traders.
    pub require_declaration: bool,
    /// Minimum number of characters of a password.
    pub fewest_password_chars: usize,
    /// True if registration is suspended for everyone, invited or not.
    pub suspended: bool,
}

impl Default for RegistrationRules {
    fn default() -> Self {
        Self {
            policy: RegistrationPolicy::default(),
            allowed_domains: Vec::new(),
            require_declaration: false,
            fewest_password_chars: 8,
            suspended: false,
        }
    }
}

impl RegistrationRules {
    /// Returns whether a person with this address may register without an
    /// invitation.
    pub(crate) fn admit(&self, email: &str) -> bool {
        let domain = people::email::domain(email);
        let allowed =
            |it: &String| people::email::fold_domain(it.trim().trim_start_matches('@')) == domain;
        self.policy == RegistrationPolicy::Open
            && (self.allowed_domains.is_empty() || self.allowed_domains.iter().any(allowed))
    }

    /// Returns whether a person with an invitation may try to register. The
    /// inviter knows the person, so the domain of the address does not matter.
    fn admit_invited(&self) -> bool {
        self.policy != RegistrationPolicy::Closed
    }
}

/// Registration form.
#[derive(Debug, Clone)]
pub struct RegistrationForm {
    /// Their address.
    pub email: String,
    /// The password they choose, as they typed it.
    pub password: Secret<String>,
    /// Display name.
    pub display_name: Option<String>,
    /// Capacity in which they use the service.
    pub customer: CustomerType,
    /// The company of a trader; of others it is not stored.
    pub company_name: Option<String>,
    /// The token of an invitation. Shown, it must be good, also where nobody
    /// needs one: role and group come from it.
    pub invitation: Option<Secret<String>>,
}

/// Outcome of a registration.
#[derive(Debug, Clone)]
pub enum RegistrationOutcome {
    /// The account is made, and its owner may sign in.
    Made(Box<Account>),
    /// A letter is under way to the address. Whether that had an account
    /// before is reported in the letter alone.
    Written,
}

/// Errors that prevent an account from being created.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// Something is filled in wrongly; all that is wrong is reported at once.
    #[error("the registration is not filled in correctly")]
    Invalid(Vec<Violation>),
    /// The operator does not let this person make an account.
    #[error("registration is closed")]
    Closed,
    /// Registration is suspended.
    #[error("no accounts are made for now")]
    Suspended,
    /// Address belongs to another account.
    #[error("the address has an account already")]
    EmailTaken,
    /// Licence has no seat left.
    #[error("all {limit} accounts of the licence are taken")]
    SeatsTaken {
        /// Licensed number of accounts.
        limit: u32,
    },
    /// Something that is needed did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Ports of registration.
#[derive(Clone)]
pub struct RegistrationPorts {
    /// Store of the account.
    pub accounts: Arc<dyn AccountStore>,
    /// Hashing of the password.
    pub hasher: Arc<dyn PasswordHasher>,
    /// Limit on the number of accounts.
    pub seats: Arc<dyn Seats>,
    /// Verification of the newcomers' email addresses.
    pub verification: Verification,
}

/// Makes accounts for those who ask.
#[derive(Clone)]
pub struct Registration {
    ports: RegistrationPorts,
    rules: LiveSetting<RegistrationRules>,
    clock: Arc<dyn Clock>,
}

/// Validated registration form.
pub(crate) struct ValidatedForm {
    pub(crate) email: String,
    pub(crate) display_name: Option<String>,
    company_name: Option<String>,
}

impl Registration {
    /// Registration under rules that may change while the server runs.
    pub fn new(
        ports: RegistrationPorts,
        rules: LiveSetting<RegistrationRules>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { ports, rules, clock }
    }

    /// Makes an account, unless it is filled in wrongly, not allowed or there.
    ///
    /// A hash is made only for those who may have an account, and before it
    /// is known whether the address has one: that is for the store to say,
    /// which alone sees all who ask at once.
    pub async fn register(
        &self,
        person: RegistrationForm,
    ) -> Result<RegistrationOutcome, RegisterError> {
        let rules = self.rules.get();
        let checked = check(&person, &rules).map_err(RegisterError::Invalid)?;
        let invitation = self.register_invited(&person, &rules, &checked.email)?;
        let password_hash = self.ports.hasher.hash(person.password).await?;
        let account = Account {
            display_name: checked.display_name,
            customer: person.customer,
            company_name: checked.company_name,
            ..Account::local(UserId::generate(), checked.email, self.clock.now())
        };
        self.store(NewAccount { invitation, ..NewAccount::local(account, password_hash) }).await
    }

    /// The invitation that somebody shows, if they may come in with it, or
    /// else without one. Whether it is good is for the store to say.
    fn register_invited(
        &self,
        person: &RegistrationForm,
        rules: &RegistrationRules,
        email: &str,
    ) -> Result<Option<PresentedInvitation>, RegisterError> {
        if rules.suspended {
            return Err(RegisterError::Suspended);
        }
        let token = person.invitation.as_ref().filter(|it| !it.expose().is_empty());
        let Some(token) = token else {
            return if rules.admit(email) { Ok(None) } else { Err(RegisterError::Closed) };
        };
        let hash = people::invitations::hash(token).filter(|_| rules.admit_invited());
        let hash = hash.ok_or(RegisterError::Closed)?;
        Ok(Some(PresentedInvitation { hash, max_admins: self.ports.seats.admins() }))
    }

    async fn store(&self, new: NewAccount) -> Result<RegistrationOutcome, RegisterError> {
        let account = new.account.clone();
        let (user, verification) = (account.user, &self.ports.verification);
        let at = account.created_at;
        let mut effects = SideEffects::audit(at, user, "account.registered");
        if new.invitation.is_some() {
            effects = effects.and(SideEffects::audit(at, user, "invitation.used"));
        }
        let (new, effects, owes) = match verification.begin(&account)? {
            Some((token, letter)) => {
                (NewAccount { verification: Some(token), ..new }, effects.and_mail(letter), true)
            }
            None => (new, effects, false),
        };
        let limit = self.ports.seats.limit();
        match self.ports.accounts.register(new, limit, effects).await? {
            Registered::Stored | Registered::EmailTaken if owes => {
                verification.report_owner(&account.email, user).await?;
                Ok(RegistrationOutcome::Written)
            }
            Registered::Stored => Ok(RegistrationOutcome::Made(Box::new(account))),
            Registered::NotInvited => Err(RegisterError::Closed),
            Registered::EmailTaken => Err(RegisterError::EmailTaken),
            Registered::SeatsTaken => {
                Err(RegisterError::SeatsTaken { limit: limit.unwrap_or_default() })
            }
        }
    }
}

/// Validates the form, or returns all violations.
pub(crate) fn check(
    person: &RegistrationForm,
    rules: &RegistrationRules,
) -> Result<ValidatedForm, Vec<Violation>> {
    let mut faults = Vec::new();
    let email = people::email::parse(&person.email).unwrap_or_else(|fault| {
        faults.push(fault);
        String::new()
    });
    let display_name = person.display_name.as_deref();
    let about = [email.as_str(), display_name.unwrap_or_default()];
    let fewest = rules.fewest_password_chars;
    let weakness = passwords::rules::weakness(person.password.expose(), fewest, &about);
    faults.extend(weakness.map(|it| it.violation("password")));
    let display_name = name("displayName", "The name", display_name).unwrap_or_else(|fault| {
        faults.push(fault);
        None
    });
    let company_name = declared(person, rules).unwrap_or_else(|fault| {
        faults.push(fault);
        None
    });
    if faults.is_empty() {
        Ok(ValidatedForm { email, display_name, company_name })
    } else {
        Err(faults)
    }
}

/// The company of a trader, if the declaration is in order.
fn declared(
    person: &RegistrationForm,
    rules: &RegistrationRules,
) -> Result<Option<String>, Violation> {
    match person.customer {
        CustomerType::NotDeclared if rules.require_declaration => {
            let message = "Say whether you use the service as a trader or as a consumer.";
            Err(Violation::new("customerType", "required", message))
        }
        CustomerType::NotDeclared | CustomerType::Consumer => Ok(None),
        CustomerType::Business => {
            let company =
                name("companyName", "The company's name", person.company_name.as_deref())?;
            if company.is_none() && rules.require_declaration {
                let message = "A trader's company name is required.";
                return Err(Violation::new("companyName", "required", message));
            }
            Ok(company)
        }
    }
}

#[cfg(test)]
mod tests;
