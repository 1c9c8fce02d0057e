//! Provisioning of users by identity providers, over its adapters.

use std::sync::Arc;

use pia_identity::{Administration, Provisioning, ScimTokens, ScimUserPorts, ScimUsers};
use pia_storage_identity::{SqlScimTokens, SqlScimUsers};

use super::identity::IdentityParts;
use super::infrastructure::Infrastructure;

/// Composes provisioning; roles and states change by `administration`.
pub(super) fn compose(
    base: &Infrastructure<'_>,
    parts: &IdentityParts,
    administration: &Administration,
) -> Provisioning {
    let users = ScimUserPorts {
        store: Arc::new(SqlScimUsers::new(base.db.clone())),
        seats: Arc::clone(&parts.seats),
        rules: base.config.follow(|it| it.local_auth.registration.clone()),
        roles: administration.roles.clone(),
        clock: base.clock(),
    };
    Provisioning {
        tokens: ScimTokens::new(Arc::new(SqlScimTokens::new(base.db.clone())), base.clock()),
        users: ScimUsers::new(users),
    }
}
