//! Metrics for Prometheus.
//!
//! Requests are counted here, by `surface.rs` and `access_log.rs`. Other values are
//! registered as functions that are called whenever `/metrics` is read
//! (`server/src/compose/ai.rs` and `mail.rs`), so their owners need not know of metrics.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_web::http::Method;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Histogram buckets of request durations, in seconds; a long response streams
/// for minutes.
const SECONDS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5, 10.0, 60.0];

/// Counters of the server.
pub struct Metrics {
    registry: Mutex<Registry>,
    requests: Family<Labels, Counter>,
    seconds: Family<RouteLabel, Histogram>,
    in_flight: Arc<AtomicU64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    method: String,
    route: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabel {
    route: String,
}

/// Request in flight; counted until dropped.
pub(crate) struct InFlight(Arc<AtomicU64>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let requests = Family::<Labels, Counter>::default();
        let seconds =
            Family::<RouteLabel, Histogram>::new_with_constructor(|| Histogram::new(SECONDS));
        let mut registry = Registry::with_prefix("pia");
        registry.register("http_requests", "Requests answered", requests.clone());

        registry.register(
            "http_request_duration_seconds",
            "Time from a request's head to the end of its answer",
            seconds.clone(),
        );
        let registry = Mutex::new(registry);
        let metrics = Self { registry, requests, seconds, in_flight: Arc::default() };
        let in_flight = Arc::clone(&metrics.in_flight);
        metrics.gauge(
            "http_requests_in_flight",
            "Requests that are being answered",
            Box::new(move || in_flight.load(Ordering::Relaxed)),
        );

        metrics
    }
}

/// Function that returns a number whenever the metrics are read.
pub type Read = Box<dyn Fn() -> u64 + Send + Sync>;

/// Function that returns numbers with their labels whenever the metrics are
/// read.
pub type ReadEach = Box<dyn Fn() -> Vec<(Vec<(&'static str, String)>, u64)> + Send + Sync>;

impl Metrics {
    /// Registers a number that only grows under `name`, to which `_total` is
    /// appended.
    pub fn counter(&self, name: &'static str, help: &'static str, read: Read) {
        self.collect(ReadMetric { name, help, read, grows: true });
    }

    /// Registers a number that rises and falls under `name`.
    pub fn gauge(&self, name: &'static str, help: &'static str, read: Read) {
        self.collect(ReadMetric { name, help, read, grows: false });
    }

    /// Registers numbers that only grow under `name`, to which `_total` is
    /// appended, each with its own labels.
    pub fn counters(&self, name: &'static str, help: &'static str, read: ReadEach) {
        let each = ReadEachMetric { name, help, read };
        let mut registry = self.registry.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        registry.register_collector(Box::new(each));
    }

    /// Returns all metrics in the text format of `OpenMetrics`.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        let registry = self.registry.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        prometheus_client::encoding::text::encode(&mut text, &registry)?;
        Ok(text)
    }

    /// Returns the number of requests in flight.
    pub fn in_flight(&self) -> u64 {
        self.in_flight.load(Ordering::Relaxed)
    }

    pub(crate) fn begin(&self) -> InFlight {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(Arc::clone(&self.in_flight))
    }

    pub(crate) fn request(&self, method: &Method, route: &str, status: u16, duration: Duration) {
        let labels =
            Labels { method: method_label(method).to_owned(), route: route.to_owned(), status };
        self.requests.get_or_create(&labels).inc();
        let label = RouteLabel { route: route.to_owned() };
        self.seconds.get_or_create(&label).observe(duration.as_secs_f64());
    }

    fn collect(&self, collector: ReadMetric) {
        let mut registry = self.registry.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        registry.register_collector(Box::new(collector));
    }
}

/// Returns the label of a method. Clients may invent methods, and a label for
/// each would fill the memory.
fn method_label(method: &Method) -> &str {
    let known_methods = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::DELETE,
        Method::PATCH,
        Method::OPTIONS,
    ];
    if known_methods.contains(method) { method.as_str() } else { "other" }
}

struct ReadMetric {
    name: &'static str,
    help: &'static str,
    read: Read,
    grows: bool,
}

impl fmt::Debug for ReadMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadMetric").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Collector for ReadMetric {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let value = (self.read)();
        if self.grows {
            let metric = ConstCounter::new(value);
            let metric_encoder =
                encoder.encode_descriptor(self.name, self.help, None, metric.metric_type())?;
            return metric.encode(metric_encoder);
        }
        let metric = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
        let metric_encoder =
            encoder.encode_descriptor(self.name, self.help, None, metric.metric_type())?;
        metric.encode(metric_encoder)
    }
}

struct ReadEachMetric {
    name: &'static str,
    help: &'static str,
    read: ReadEach,
}

impl fmt::Debug for ReadEachMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadEachMetric").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Collector for ReadEachMetric {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut metric_encoder =
            encoder.encode_descriptor(self.name, self.help, None, MetricType::Counter)?;
        for (labels, value) in (self.read)() {
            ConstCounter::new(value).encode(metric_encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_requests_are_exported() {
        let metrics = Metrics::default();
        metrics.gauge("password_queue", "Passwords that wait", Box::new(|| 7));

        let each = || vec![(vec![("model", "m".to_owned())], 3)];
        metrics.counters("attempts", "Attempts by model", Box::new(each));

        metrics.request(&Method::GET, "/health", 200, Duration::from_millis(3));
        metrics.request(&Method::from_bytes(b"INVENTED").unwrap(), "-", 404, Duration::ZERO);

        let text = metrics.text().unwrap();
        for line in [
            r#"pia_http_requests_total{method="GET",route="/health",status="200"} 1"#,
            r#"pia_http_requests_total{method="other",route="-",status="404"} 1"#,
            "pia_password_queue 7",
            r#"pia_attempts_total{model="m"} 3"#,
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
