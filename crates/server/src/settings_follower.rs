//! Polling of settings that administrators change on other instances.

use std::time::Duration;

use pia_policy::SettingOverrides;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// Interval of polling. All instances follow within five seconds.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Applies settings that another instance has changed, until `stop`.
pub(crate) async fn run(settings: SettingOverrides, stop: CancellationToken) {
    let mut tick = interval(POLL_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        if let Err(err) = settings.refresh().await {
            tracing::warn!(error = %err, "failed to read changed settings");
        }
    }
}
