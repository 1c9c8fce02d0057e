//! Polling of settings that administrators change on other instances.

use std::time::Duration;

use pia_policy::SettingOverrides;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// Interval of polling. All instances follow within five seconds.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Applies settings that another instance has changed, until `stop`. Logs the
/// secrets that this server cannot decrypt, at the start and whenever these change.
pub(crate) async fn run(settings: SettingOverrides, stop: CancellationToken) {
    let mut tick = interval(POLL_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut logged_keys: Vec<String> = Vec::new();

    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        match settings.refresh().await {
            Ok(unreadable_keys) if unreadable_keys != logged_keys => {
                for key in &unreadable_keys {
                    tracing::warn!(
                        setting.key = key,
                        "setting not in effect: it was encrypted with another master key"
                    );
                }
                logged_keys = unreadable_keys;
            }
            Ok(_) => {}
            Err(err) => tracing::warn!(error = %err, "failed to read changed settings"),
        }
    }
}
