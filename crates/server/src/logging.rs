//! Log output, and its format.

use pia_settings::{LogFormat, Logging};
use tracing_subscriber::filter::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, fmt};

/// Changes what is logged while the server runs.
pub(crate) struct LogLevel(reload::Handle<EnvFilter, Registry>);

impl LogLevel {
    /// Follows the setting.
    pub(crate) fn set(&self, level: &str) {
        if let Err(err) = self.0.reload(filter(level)) {
            tracing::warn!(error = %err, "log level unchanged: the new filter is invalid");
        }
    }
}

/// Starts logging to standard error; what is requested goes to standard output.
pub(crate) fn start(logging: &Logging) -> LogLevel {
    let (filter, handle) = reload::Layer::new(filter(&logging.level));
    let registry = tracing_subscriber::registry().with(filter);
    let lines = fmt::layer().with_writer(std::io::stderr);
    // A second start in one process keeps the first one's log.
    drop(match logging.format {
        LogFormat::Text => registry.with(lines.with_ansi(false)).try_init(),
        LogFormat::Json => registry.with(lines.json().flatten_event(true)).try_init(),
    });
    LogLevel(handle)
}

/// Settings that are read have been checked; what cannot be read says less.
/// What clients send that is no HTTP is no error of ours, and would let anybody
/// fill the log.
fn filter(level: &str) -> EnvFilter {
    let quiet = if level.contains("actix_http") { "" } else { ",actix_http=off" };
    EnvFilter::try_new(format!("{level}{quiet}")).unwrap_or_else(|_| EnvFilter::new("info"))
}
