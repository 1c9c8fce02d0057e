//! Log output, and its format.

use pia_settings::{LogFormat, Logging};
use tracing_subscriber::filter::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, fmt};

/// Handle that changes the log level while the server runs.
pub(crate) struct LogLevel(reload::Handle<EnvFilter, Registry>);

impl LogLevel {
    /// Sets the level. An invalid filter is logged and changes nothing.
    pub(crate) fn set(&self, level: &str) {
        if let Err(err) = self.0.reload(filter(level)) {
            tracing::warn!(error = %err, "log level unchanged: the new filter is invalid");
        }
    }
}

/// Starts logging to standard error; the output of commands goes to standard output.
pub(crate) fn start(logging: &Logging) -> LogLevel {
    let (filter, handle) = reload::Layer::new(filter(&logging.level));
    let registry = tracing_subscriber::registry().with(filter);
    let lines = fmt::layer().with_writer(std::io::stderr);
    // A second call in one process has no effect.
    drop(match logging.format {
        LogFormat::Text => registry.with(lines.with_ansi(false)).try_init(),
        LogFormat::Json => registry.with(lines.json().flatten_event(true)).try_init(),
    });
    LogLevel(handle)
}

/// Returns the filter of a level, which the settings have checked. Errors of
/// `actix_http`, and warnings of `rmcp`, are off: invalid HTTP and invalid calls
/// are the client's error, and would let any client fill the log.
fn filter(level: &str) -> EnvFilter {
    let quiet: String = [("actix_http", ",actix_http=off"), ("rmcp", ",rmcp=error")]
        .into_iter()
        .filter(|(name, _)| !level.contains(name))
        .map(|(_, directive)| directive)
        .collect();
    EnvFilter::try_new(format!("{level}{quiet}")).unwrap_or_else(|_| EnvFilter::new("info"))
}
