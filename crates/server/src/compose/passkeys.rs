//! Passkeys over their adapters.

use std::sync::Arc;

use pia_identity::{PasskeyCeremony, PasskeyPorts, PasskeySignIn, PasskeySignInPorts, Passkeys};
use pia_kernel::Clock;
use pia_passkeys::WebauthnCeremony;
use pia_storage::Database;
use pia_storage_identity::{SqlPasskeyChallenges, SqlPasskeys};

use super::identity::Identity;

/// Adding passkeys, and signing in with them.
pub(super) fn compose(
    db: &Database,
    (public_url, name): (&str, &str),
    identity: &Identity,
    clock: &Arc<dyn Clock>,
) -> (Passkeys, PasskeySignIn) {
    let (factors, settings) = identity.factors.clone();
    let sign_in = PasskeySignInPorts {
        accounts: Arc::clone(&factors.accounts),
        log: Arc::clone(&identity.log),
        passkeys: ports(db, (public_url, name)),
    };
    let (passkeys, standings) = (sign_in.passkeys.clone(), identity.standings.clone());
    let clock = || Arc::clone(clock);
    let passkeys = Passkeys::new(passkeys, factors, settings, standings, clock());
    (passkeys, PasskeySignIn::new(sign_in, identity.sessions.clone(), clock()))
}

/// Passkeys that are bound to the server's own address. At some there can be
/// none; all else goes on there, and the operator is told.
fn ports(db: &Database, (public_url, name): (&str, &str)) -> PasskeyPorts {
    let ceremony = match WebauthnCeremony::at(public_url, name) {
        Ok(ceremony) => Some(Arc::new(ceremony) as Arc<dyn PasskeyCeremony>),
        Err(reason) => {
            tracing::warn!(%reason, "passkeys cannot be used at the address of Server:PublicUrl");
            None
        }
    };
    PasskeyPorts {
        store: Arc::new(SqlPasskeys::new(db.clone())),
        challenges: Arc::new(SqlPasskeyChallenges::new(db.clone())),
        ceremony,
    }
}
