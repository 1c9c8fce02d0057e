//! `LocalAuth`: registration, and password rules.

use std::time::Duration;

use pia_identity::{AccountRules, RegistrationPolicy, RegistrationRules};

use super::error::Reason;
use super::section::Section;
use super::setting::{Setting, choice};

const DAY: Duration = Duration::from_hours(24);
/// Maximum age of accounts that are deleted as unverified.
const UNVERIFIED_DAYS: u32 = 365;

/// Accounts with a password.
#[derive(Debug, Clone)]
pub struct LocalAuth {
    /// Rules of registration.
    pub registration: RegistrationRules,
    /// Requirements that accounts must meet before they may use the service.
    pub accounts: AccountRules,
    /// Time after which an account is deleted if its address was not verified,
    /// where that is required.
    pub unverified_retention: Duration,
}

impl LocalAuth {
    pub(super) fn from_section(from: &mut Section<'_>) -> Self {
        let policy = from.reload("Registration").or(RegistrationPolicy::Open);
        let domains = from.reload("AllowedDomains").list::<Domain>();
        let require_declaration = from.reload("RequireBusinessDeclaration").or(false);
        let require_verification = from.reload("RequireEmailVerification").or(false);
        let unverified_days = from.reload("UnverifiedAccountDays").within(7, 1..=UNVERIFIED_DAYS);
        let min_password_chars = from.reload("MinimumPasswordLength").within(8, 8..=64);

        if policy == RegistrationPolicy::Open && !from.environment().is_development() {
            let text = if domains.is_empty() {
                "whoever reaches the server may register; `invitation` or `closed` ends that"
            } else {
                "whoever gives an address of an allowed domain may register; `invitation` or \
                 `closed` ends that"
            };
            from.warn("Registration", text);
        }

        let registration = RegistrationRules {
            policy,
            allowed_domains: domains.into_iter().map(|it| it.0).collect(),
            require_declaration,
            min_password_chars,
            // Set by another section.
            suspended: false,
        };

        let accounts = AccountRules { require_declaration, require_verification };
        let unverified_retention = DAY * unverified_days;

        Self { registration, accounts, unverified_retention }
    }
}

impl Setting for RegistrationPolicy {
    const IS_SECRET: bool = false;

    fn choices() -> Vec<(&'static str, Self)> {
        [Self::Open, Self::Invitation, Self::Closed].map(|it| (name(it), it)).into()
    }

    fn parse(text: &str) -> Result<Self, Reason> {
        choice(text)
    }

    fn format(&self) -> String {
        name(*self).to_owned()
    }
}

fn name(policy: RegistrationPolicy) -> &'static str {
    match policy {
        RegistrationPolicy::Open => "open",
        RegistrationPolicy::Invitation => "invitation",
        RegistrationPolicy::Closed => "closed",
    }
}

/// Domain after the `@` of an address.
struct Domain(String);

impl Setting for Domain {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        let text = text.trim();
        let domain = text.strip_prefix('@').unwrap_or(text).to_lowercase();
        let is_label = |label: &str| {
            !label.is_empty() && label.chars().all(|it| it.is_alphanumeric() || it == '-')
        };
        if domain.len() > 253 || !domain.split('.').all(is_label) {
            return Err(Reason::form("expected a domain such as example.com"));
        }
        Ok(Self(domain))
    }

    fn format(&self) -> String {
        self.0.clone()
    }
}
