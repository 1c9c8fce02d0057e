//! Passkeys over their adapters.

use std::sync::Arc;

use pia_identity::{PasskeyCeremony, PasskeyPorts, PasskeySignIn, PasskeySignInPorts, Passkeys};
use pia_passkeys::WebauthnCeremony;
use pia_storage_identity::{SqlPasskeyChallenges, SqlPasskeys};

use super::identity::IdentityParts;
use super::infrastructure::Infrastructure;

pub(super) fn compose(
    base: &Infrastructure<'_>,
    parts: &IdentityParts,
) -> (Passkeys, PasskeySignIn) {
    let sign_in = PasskeySignInPorts {
        accounts: Arc::clone(&parts.proofs.ports.accounts),
        log: Arc::clone(&parts.log),
        passkeys: ports(base),
        starts: Arc::clone(&parts.proofs.ports.starts),
    };
    let ports = sign_in.passkeys.clone();
    let passkeys = Passkeys::new(ports, parts.proofs.clone(), parts.callers.clone());
    (passkeys, PasskeySignIn::new(sign_in, parts.sessions.clone(), base.clock()))
}

/// Builds the ports of passkeys, which are bound to the server's address.
/// Logs a warning and disables passkeys if that address cannot have any.
fn ports(base: &Infrastructure<'_>) -> PasskeyPorts {
    let name = &base.config.latest().server.name;
    let ceremony = match WebauthnCeremony::at(&base.public_url(), name) {
        Ok(ceremony) => Some(Arc::new(ceremony) as Arc<dyn PasskeyCeremony>),
        Err(reason) => {
            tracing::warn!(%reason, "passkeys are unavailable at the address of Server:PublicUrl");
            None
        }
    };

    PasskeyPorts {
        store: Arc::new(SqlPasskeys::new(base.db.clone())),
        challenges: Arc::new(SqlPasskeyChallenges::new(base.db.clone())),
        ceremony,
    }
}
