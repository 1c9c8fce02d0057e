//! The use cases of all domains, and what each leaves to be cleared away.

use std::sync::Arc;

use pia_identity::{GuessRules, PasskeySignIn, Passkeys, ProviderSignIn};
use pia_kernel::{Clock, Timestamp, Unavailable};
use pia_sync::{Chats, PendingDevices};

use super::ComposeError;
use super::administration::Administration;
use super::e2ee::E2ee;
use super::identity::Identity;
use super::infrastructure::Infrastructure;
use super::lifecycle::Lifecycle;
use super::sync::Syncing;
use super::{chats, passkeys, providers};
use crate::bridges::WaitingDevices;
use crate::housekeeping::MaintenanceTask;
use pia_settings::LiveConfig;

/// A chore of what knows by itself what is old.
macro_rules! sweep {
    ($what:literal, $of:expr) => {{
        let of = $of.clone();
        MaintenanceTask::new($what, move || {
            let of = of.clone();
            async move { of.sweep().await }
        })
    }};
}

/// The use cases of all domains.
pub(super) struct UseCases {
    pub(super) identity: Identity,
    pub(super) people: Administration,
    pub(super) passkeys: Passkeys,
    pub(super) passkey_sign_in: PasskeySignIn,
    pub(super) provider_sign_in: ProviderSignIn,
    pub(super) lifecycle: Lifecycle,
    pub(super) syncing: Syncing,
    pub(super) chats: Chats,
    pub(super) e2ee: E2ee,
}

impl UseCases {
    pub(super) fn compose(
        config: &LiveConfig,
        ground: &Infrastructure,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, ComposeError> {
        let Infrastructure { db, sealer, mail, licence, setup, tls, silences } = ground;
        let sealed = (&**licence, sealer.clone());
        let identity = Identity::compose(config, db, sealed, mail, clock)?;
        let server = &config.latest().server;
        let known_as = (server.public_url.as_str(), server.name.as_str());
        let (passkeys, passkey_sign_in) = passkeys::compose(db, known_as, &identity, clock);
        let e2ee = E2ee::compose(db, sealer, clock);
        let waiting: Arc<dyn PendingDevices> = Arc::new(WaitingDevices(e2ee.devices.clone()));
        let known = (waiting, silences.clone());
        Ok(Self {
            people: Administration::compose(config, db, (&identity, setup), clock),
            provider_sign_in: providers::compose(config, db, (&identity, licence, tls), clock)?,
            syncing: Syncing::compose(config, (db, sealer), known, clock),
            lifecycle: Lifecycle::compose(config, (db, sealer), &identity, clock),
            chats: chats::compose(config, (db, sealer), clock),
            e2ee,
            identity,
            passkeys,
            passkey_sign_in,
        })
    }

    /// Returns the maintenance tasks.
    pub(super) fn chores(&self, clock: &Arc<dyn Clock>) -> Vec<MaintenanceTask> {
        let identity = &self.identity;
        vec![
            sweep!("expired sessions", identity.sessions),
            sweep!("old sign-ins", identity.history),
            sweep!("sign-ins that waited for a factor", identity.challenges),
            sweep!("factors that were never put on", identity.second_factors),
            sweep!("links of letters", identity.letters.verification),
            sweep!("passkey challenges", self.passkeys),
            sweep!("sign-ins at providers", self.provider_sign_in),
            sweep!("invitations", self.people.invitations),
            sweep!("accounts that were never verified", self.lifecycle.unclaimed),
            swept_at("full rate buckets", &identity.attempts, clock, |it, now| async move {
                it.sweep(now).await
            }),
            swept_at("old guesses", &identity.guesses, clock, |it, now| async move {
                it.sweep(now - GuessRules::default().memory).await
            }),
            self.old_audit_entries(clock),
            self.old_sync_events(clock),
            self.deleted_traces(),
        ]
    }

    fn old_audit_entries(&self, clock: &Arc<dyn Clock>) -> MaintenanceTask {
        let kept = self.lifecycle.audit_kept.clone();
        swept_at("old audit entries", &self.lifecycle.audit, clock, move |it, now| {
            let before = now - *kept.get();
            async move { it.sweep(before).await }
        })
    }

    fn old_sync_events(&self, clock: &Arc<dyn Clock>) -> MaintenanceTask {
        let kept = self.syncing.events_kept.clone();
        let support = Arc::new(self.syncing.api.support.clone());
        swept_at("old sync events", &support, clock, move |it, now| {
            let before = now - *kept.get();
            async move { it.sweep(before).await }
        })
    }

    /// Checkpoints: deleted data stays in the database's log while somebody
    /// reads there.
    fn deleted_traces(&self) -> MaintenanceTask {
        let eraser = Arc::clone(&self.lifecycle.eraser);
        MaintenanceTask::new("traces of deleted accounts", move || {
            let eraser = Arc::clone(&eraser);
            async move {
                if !eraser.settle().await? {
                    tracing::info!("what was deleted stays in the database's log for now");
                }
                Ok(0)
            }
        })
    }
}

/// Creates a maintenance task that needs the time.
fn swept_at<T, F, W>(
    what: &'static str,
    store: &Arc<T>,
    clock: &Arc<dyn Clock>,
    work: F,
) -> MaintenanceTask
where
    T: ?Sized + Send + Sync + 'static,
    F: Fn(Arc<T>, Timestamp) -> W + Send + Sync + 'static,
    W: Future<Output = Result<u64, Unavailable>> + Send + 'static,
{
    let (store, clock) = (Arc::clone(store), Arc::clone(clock));
    MaintenanceTask::new(what, move || work(Arc::clone(&store), clock.now()))
}
