//! The use cases by which people come to the server.

use std::sync::Arc;

use pia_identity::{FirstAdmin, FirstAdminPorts, Invitations};
use pia_kernel::Clock;
use pia_storage::Database;
use pia_storage_identity::{SqlFirstAdmin, SqlInvitations};

use super::identity::Identity;
use crate::setup::Setup;
use pia_settings::LiveConfig;

/// The use cases by which people come to the server.
pub(super) struct Administration {
    pub(super) first_admin: FirstAdmin,
    pub(super) invitations: Invitations,
}

impl Administration {
    pub(super) fn compose(
        config: &LiveConfig,
        db: &Database,
        (identity, setup): (&Identity, &Setup),
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let first_admin = FirstAdminPorts {
            store: Arc::new(SqlFirstAdmin::new(db.clone())),
            hasher: Arc::clone(&identity.hasher),
            seats: Arc::clone(&identity.seats),
            token: Arc::new(setup.clone()),
        };
        let rules = config.follow(|it| it.local_auth.registration.clone());
        let public_url = config.latest().server.public_url.to_string();
        let invitations = Arc::new(SqlInvitations::new(db.clone()));
        Self {
            first_admin: FirstAdmin::new(first_admin, rules, Arc::clone(clock)),
            invitations: Invitations::new(invitations, public_url, Arc::clone(clock)),
        }
    }
}
