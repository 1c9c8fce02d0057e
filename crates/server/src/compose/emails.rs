//! Use cases of emails with links: verified and changed addresses, and passwords.

use std::sync::Arc;

use pia_identity::{
    AddressChangePorts, AddressChanges, EmailTokenPorts, PasswordChanges, PasswordPorts,
    PasswordResets, Reauthenticator, Verification,
};
use pia_storage_identity::{SqlEmailTokens, SqlPasswords, SqlScimUsers};

use super::identity::IdentityParts;
use super::infrastructure::Infrastructure;

pub(super) fn verification(base: &Infrastructure<'_>, parts: &IdentityParts) -> Verification {
    let rules = base.config.follow(|it| it.local_auth.accounts);
    Verification::new(email_tokens(base, parts), rules, parts.callers.clone())
}

pub(super) fn address_changes(base: &Infrastructure<'_>, parts: &IdentityParts) -> AddressChanges {
    let reauthenticator = Reauthenticator::new(parts.proofs.clone());
    let ports = AddressChangePorts {
        emails: email_tokens(base, parts),
        scim_users: Arc::new(SqlScimUsers::new(base.db.clone())),
        rules: base.config.follow(|it| it.local_auth.registration.clone()),
    };
    AddressChanges::new(ports, reauthenticator, parts.callers.clone())
}

pub(super) fn passwords(
    base: &Infrastructure<'_>,
    parts: &IdentityParts,
) -> (PasswordResets, PasswordChanges) {
    let passwords = PasswordPorts {
        store: Arc::new(SqlPasswords::new(base.db.clone())),
        hasher: Arc::clone(&parts.proofs.ports.hasher),
        rules: base.config.follow(|it| it.local_auth.registration.clone()),
    };

    let tokens = email_tokens(base, parts);
    let throttle = Arc::clone(&parts.throttle);
    let callers = parts.callers.clone();
    (
        PasswordResets::new(tokens, passwords.clone(), throttle, callers.clone()),
        PasswordChanges::new(parts.proofs.clone(), passwords, callers),
    )
}

fn email_tokens(base: &Infrastructure<'_>, parts: &IdentityParts) -> EmailTokenPorts {
    let ports = &parts.proofs.ports;
    EmailTokenPorts {
        accounts: Arc::clone(&ports.accounts),
        tokens: Arc::new(SqlEmailTokens::new(base.db.clone())),
        attempts: Arc::clone(&ports.attempts),
        mail: base.mail.clone(),
        public_url: base.public_url(),
        clock: base.clock(),
    }
}
