//! What is cleared away while the server runs.

use std::sync::Arc;
use std::time::Duration;

use pia_identity::{
    AttemptStore, FactorChallenges, GuessLedger, GuessRules, SecondFactors, Sessions,
    SignInHistory, Verification,
    AttemptStore, FactorChallenges, Invitations, SecondFactors, Sessions, SignInHistory,
    AttemptStore, FactorChallenges, Passkeys, SecondFactors, Sessions, SignInHistory,
    AttemptStore, FactorChallenges, ProviderSignIn, SecondFactors, Sessions, SignInHistory,
};
use pia_kernel::Clock;
use pia_identity::{AttemptStore, FactorChallenges, SecondFactors, Sessions, SignInHistory};
use pia_kernel::{AuditLog, Clock, Eraser, Live};
use tokio_util::sync::CancellationToken;

const EVERY: Duration = Duration::from_mins(10);

/// Forgets expired sessions, old sign-ins, old audit entries and full buckets
/// now and then, until stopped.
///
/// Every instance does it; that another was faster costs nothing.
pub(crate) struct Housekeeping {
    pub(crate) sessions: Sessions,
    pub(crate) history: SignInHistory,
    pub(crate) second_factors: SecondFactors,
    pub(crate) challenges: FactorChallenges,
    pub(crate) verification: Verification,
    pub(crate) passkeys: Passkeys,
    pub(crate) provider_sign_in: ProviderSignIn,
    pub(crate) attempts: Arc<dyn AttemptStore>,
    pub(crate) guesses: Arc<dyn GuessLedger>,
    pub(crate) invitations: Invitations,
    pub(crate) audit: Arc<dyn AuditLog>,
    /// How long its entries are kept.
    pub(crate) audit_kept: Live<Duration>,
    pub(crate) eraser: Arc<dyn Eraser>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Housekeeping {
    pub(crate) async fn run(self, stop: CancellationToken) {
        let mut tick = tokio::time::interval(EVERY);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = tick.tick() => {}
            }
            // Run to the end, beside no `select!`: nothing is cut half-way.
            self.once().await;
        }
    }

    async fn once(&self) {
        match self.sessions.sweep().await {
            Ok(0) => {}
            Ok(gone) => tracing::info!(sessions = gone, "expired sessions were cleared away"),
            Err(err) => tracing::warn!(error = %err, "expired sessions could not be cleared away"),
        }
        match self.history.sweep().await {
            Ok(0) => {}
            Ok(gone) => tracing::info!(sign_ins = gone, "old sign-ins were cleared away"),
            Err(err) => tracing::warn!(error = %err, "old sign-ins could not be cleared away"),
        }
        if let Err(err) = self.challenges.sweep().await {
            tracing::warn!(error = %err, "sign-ins that are over could not be cleared away");
        }
        if let Err(err) = self.verification.sweep().await {
            tracing::warn!(error = %err, "tokens of letters could not be cleared away");
        if let Err(err) = self.passkeys.sweep().await {
            tracing::warn!(error = %err, "passkey challenges that ended could not be cleared away");
        if let Err(err) = self.provider_sign_in.sweep().await {
            tracing::warn!(error = %err, "sign-ins at providers could not be cleared away");
        }
        if let Err(err) = self.second_factors.sweep().await {
            tracing::warn!(error = %err, "second factors never put on could not be cleared away");
        }
        if let Err(err) = self.invitations.sweep().await {
            tracing::warn!(error = %err, "invitations that ended could not be cleared away");
        }
        if let Err(err) = self.attempts.sweep(self.clock.now()).await {
            tracing::warn!(error = %err, "full rate buckets could not be cleared away");
        }
        let forgotten = self.clock.now() - GuessRules::default().memory;
        if let Err(err) = self.guesses.sweep(forgotten).await {
            tracing::warn!(error = %err, "old guesses could not be cleared away");
        match self.audit.sweep(self.clock.now() - *self.audit_kept.get()).await {
            Ok(0) => {}
            Ok(gone) => tracing::info!(entries = gone, "old audit entries were cleared away"),
            Err(err) => tracing::warn!(error = %err, "old audit entries could not be cleared away"),
        }
        match self.eraser.settle().await {
            Ok(true) => {}
            Ok(false) => tracing::info!("what was deleted stays in the database's log for now"),
            Err(err) => tracing::warn!(error = %err, "the database's log could not be cut"),
        }
    }
}
