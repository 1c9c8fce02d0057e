//! Registration of accounts with a password.
//!
//! `register` validates the form, applies the rules or the invitation, hashes
//! the password and stores the account. While addresses must be verified, a
//! new address and a taken one have the same outcome, `EmailQueued`; only the
//! email differs.
//!
//! `first_admin.rs` shares `check`. Users of identity providers are created
//! in `providers/accounts.rs`, those of SCIM clients in `scim/users.rs`.

use std::sync::Arc;

use pia_kernel::{Clock, LiveSetting, Secret, SideEffects, Unavailable, UserId};

use crate::passwords;
use crate::people;
use crate::people::account::{Account, CustomerType};
use crate::people::verification::Verification;
use crate::ports::{
    AccountCreationOutcome, AccountStore, NewAccount, PasswordHasher, PresentedInvitation, Seats,
};
use crate::violation::{Violation, parse_name};

/// Policy on who may register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RegistrationPolicy {
    /// Everyone may register whom the other rules admit.
    #[default]
    Open,
    /// Registration requires an invitation.
    Invitation,
    /// Registration is closed, for invited users too.
    Closed,
}

/// Operator's rules for registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistrationRules {
    /// Policy on who may register.
    pub policy: RegistrationPolicy,
    /// Permitted email domains; empty for any.
    pub allowed_domains: Vec<String>,
    /// True if users must declare if they are traders.
    pub require_declaration: bool,
    /// Minimum length of a password, in UTF-16 code units.
    pub min_password_chars: usize,
    /// True if registration is suspended for everyone, invited or not.
    pub suspended: bool,
}

impl Default for RegistrationRules {
    fn default() -> Self {
        Self {
            policy: RegistrationPolicy::default(),
            allowed_domains: Vec::new(),
            require_declaration: false,
            min_password_chars: 8,
            suspended: false,
        }
    }
}

impl RegistrationRules {
    /// Returns whether a user with this address may register without an invitation.
    pub(crate) fn admit(&self, email: &str) -> bool {
        self.policy == RegistrationPolicy::Open && self.allows_domain(email)
    }

    /// Returns whether the domain of an address is permitted.
    pub(crate) fn allows_domain(&self, email: &str) -> bool {
        let domain = people::email::domain(email);
        let is_domain = |allowed: &String| {
            people::email::fold_domain(allowed.trim().trim_start_matches('@')) == domain
        };
        self.allowed_domains.is_empty() || self.allowed_domains.iter().any(is_domain)
    }

    /// Returns whether a user with an invitation may try to register. The inviter knows the user,
    /// so the domain of the address does not matter.
    fn admit_invited(&self) -> bool {
        self.policy != RegistrationPolicy::Closed
    }
}

/// Registration form, unvalidated: `check` lists its violations.
#[derive(Debug, Clone)]
pub struct RegistrationForm {
    /// Email address, as typed.
    pub email: String,
    /// Chosen password, as typed.
    pub password: Secret<String>,
    /// Name that others see; optional.
    pub display_name: Option<String>,
    /// Customer type: consumer or trader.
    pub customer: CustomerType,
    /// Company of a trader; ignored for others.
    pub company_name: Option<String>,
    /// Token of an invitation. If presented, it must be valid even if none is required: role and
    /// group come from it.
    pub invitation: Option<Secret<String>>,
}

/// Outcome of a registration.
#[derive(Debug, Clone)]
pub enum RegistrationOutcome {
    /// Account is created, and its owner may sign in.
    Created(Box<Account>),
    /// Email to the address is queued. Only the email reveals whether the address had an account.
    EmailQueued,
}

/// Errors that prevent an account from being created.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// Form has these violations, all reported at once.
    #[error("the registration is invalid")]
    Invalid(Vec<Violation>),
    /// Rules do not allow this registration.
    #[error("registration is closed")]
    Closed,
    /// Operator has suspended registration for everyone.
    #[error("registration is suspended")]
    Suspended,
    /// Address belongs to another account.
    #[error("an account with this email address exists")]
    EmailTaken,
    /// Licence has no seat left.
    #[error("licence limit of active accounts reached: {limit}")]
    SeatsTaken {
        /// Licensed number of active accounts.
        limit: u32,
    },
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Ports of registration.
#[derive(Clone)]
pub struct RegistrationPorts {
    /// Store of the account and its verification token.
    pub accounts: Arc<dyn AccountStore>,
    /// Hasher of the chosen password.
    pub hasher: Arc<dyn PasswordHasher>,
    /// Numbers of accounts that the licence allows.
    pub seats: Arc<dyn Seats>,
    /// Verification of new email addresses.
    pub verification: Verification,
}

/// Registration of new accounts.
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
    /// Creates a registration under rules that may change at run time.
    pub fn new(
        ports: RegistrationPorts,
        rules: LiveSetting<RegistrationRules>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { ports, rules, clock }
    }

    /// Creates an account, unless the form is invalid, the registration not allowed or the address
    /// taken.
    ///
    /// The password is hashed only if the registration is allowed, and before it is known whether
    /// the address is taken: only the store can decide that under concurrency.
    pub async fn register(
        &self,
        form: RegistrationForm,
    ) -> Result<RegistrationOutcome, RegisterError> {
        let rules = self.rules.get();
        let valid_form = check(&form, &rules).map_err(RegisterError::Invalid)?;
        let invitation = self.admitted_invitation(&form, &rules, &valid_form.email)?;
        let password_hash = self.ports.hasher.hash(form.password).await?;
        let account = Account {
            display_name: valid_form.display_name,
            customer: form.customer,
            company_name: valid_form.company_name,
            ..Account::local(UserId::generate(), valid_form.email, self.clock.now())
        };
        self.store(NewAccount { invitation, ..NewAccount::local(account, password_hash) }).await
    }

    /// Returns the presented invitation, if any. Fails if the rules do not admit the user. The
    /// store checks its validity.
    fn admitted_invitation(
        &self,
        form: &RegistrationForm,
        rules: &RegistrationRules,
        email: &str,
    ) -> Result<Option<PresentedInvitation>, RegisterError> {
        if rules.suspended {
            return Err(RegisterError::Suspended);
        }

        let token = form.invitation.as_ref().filter(|it| !it.expose().is_empty());
        let Some(token) = token else {
            return if rules.admit(email) { Ok(None) } else { Err(RegisterError::Closed) };
        };
        if !rules.admit_invited() {
            return Err(RegisterError::Closed);
        }

        let hash = people::invitations::hash(token).ok_or(RegisterError::Closed)?;

        Ok(Some(PresentedInvitation { hash, max_admins: self.ports.seats.admins() }))
    }

    /// Stores the account, its effects and the token that verifies its address.
    async fn store(
        &self,
        mut new_account: NewAccount,
    ) -> Result<RegistrationOutcome, RegisterError> {
        let account = new_account.account.clone();
        let user = account.user;
        let verification = &self.ports.verification;
        let at = account.created_at;
        let mut effects = SideEffects::audit(at, user, "account.registered");
        if new_account.invitation.is_some() {
            effects = effects.and(SideEffects::audit(at, user, "invitation.used"));
        }

        let token_and_email = verification.begin(&account)?;
        let needs_verification = token_and_email.is_some();
        if let Some((token, email)) = token_and_email {
            new_account.verification = Some(token);
            effects = effects.and_mail(email);
        }

        let limit = self.ports.seats.limit();
        match self.ports.accounts.register(new_account, limit, effects).await? {
            // Both look the same to the caller: only the owner of the address learns which it was.
            AccountCreationOutcome::Stored | AccountCreationOutcome::EmailTaken
                if needs_verification =>
            {
                verification.notify_owner(&account.email, user).await?;
                Ok(RegistrationOutcome::EmailQueued)
            }
            AccountCreationOutcome::Stored => Ok(RegistrationOutcome::Created(Box::new(account))),
            AccountCreationOutcome::NotInvited => Err(RegisterError::Closed),
            AccountCreationOutcome::EmailTaken => Err(RegisterError::EmailTaken),
            AccountCreationOutcome::SeatsTaken => {
                Err(RegisterError::SeatsTaken { limit: limit.unwrap_or_default() })
            }
        }
    }
}

/// Validates the form, or returns all violations.
pub(crate) fn check(
    form: &RegistrationForm,
    rules: &RegistrationRules,
) -> Result<ValidatedForm, Vec<Violation>> {
    let mut violations = Vec::new();
    let email = people::email::parse(&form.email).unwrap_or_else(|violation| {
        violations.push(violation);
        String::new()
    });

    // The password must not be the name or the address, even if these are invalid.
    let typed_name = form.display_name.as_deref();
    let about = [email.as_str(), typed_name.unwrap_or_default()];
    let min_chars = rules.min_password_chars;
    let weakness = passwords::rules::weakness(form.password.expose(), min_chars, &about);
    violations.extend(weakness.map(|it| it.violation("password")));

    let display_name =
        parse_name("displayName", "The name", typed_name).unwrap_or_else(|violation| {
            violations.push(violation);
            None
        });

    let company_name = declared_company(form, rules).unwrap_or_else(|violation| {
        violations.push(violation);
        None
    });

    if violations.is_empty() {
        Ok(ValidatedForm { email, display_name, company_name })
    } else {
        Err(violations)
    }
}

/// Returns the company of a trader, if the declaration is complete.
fn declared_company(
    form: &RegistrationForm,
    rules: &RegistrationRules,
) -> Result<Option<String>, Violation> {
    match form.customer {
        CustomerType::NotDeclared if rules.require_declaration => {
            let message = "Say whether you use the service as a trader or as a consumer.";
            Err(Violation::new("customerType", "required", message))
        }
        CustomerType::NotDeclared | CustomerType::Consumer => Ok(None),
        CustomerType::Business => {
            let company =
                parse_name("companyName", "The company's name", form.company_name.as_deref())?;
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
