//! Administration of accounts over its adapters.

use std::sync::Arc;

use pia_identity::{
    AccountSecurity, AccountSecurityPorts, Administration, ApiKeyAdmin, CallerCache, Invitations,
    RoleStore, Roles, Seats,
};
use pia_kernel::Clock;
use pia_storage::Database;
use pia_storage_identity::{
    SqlAccounts, SqlApiKeys, SqlInvitations, SqlPasswordThrottleStore, SqlRoles, SqlSignIns,
};

/// Parts that administration shares with the rest of a server. The command
/// `pia-server admin` builds its own.
pub(crate) struct AdministrationParts {
    pub(crate) seats: Arc<dyn Seats>,
    pub(crate) callers: CallerCache,
    /// Base URL of the links of invitations.
    pub(crate) public_url: String,
    pub(crate) clock: Arc<dyn Clock>,
}

/// Composes the administration of the accounts in `db`.
pub(crate) fn administration(db: &Database, parts: AdministrationParts) -> Administration {
    let AdministrationParts { seats, callers, public_url, clock } = parts;
    let keys = Arc::new(SqlApiKeys::new(db.clone()));
    let invitations = Arc::new(SqlInvitations::new(db.clone()));
    let roles: Arc<dyn RoleStore> = Arc::new(SqlRoles::new(db.clone()));
    let ports = AccountSecurityPorts {
        accounts: Arc::new(SqlAccounts::new(db.clone())),
        store: Arc::clone(&roles),
        throttle: Arc::new(SqlPasswordThrottleStore::new(db.clone())),
        log: Arc::new(SqlSignIns::new(db.clone())),
    };

    Administration {
        security: AccountSecurity::new(ports, callers.clone(), Arc::clone(&clock)),
        api_keys: ApiKeyAdmin::new(keys, callers.clone(), Arc::clone(&clock)),
        invitations: Invitations::new(invitations, public_url, Arc::clone(&clock)),
        roles: Roles::new(roles, seats, callers, clock),
    }
}
