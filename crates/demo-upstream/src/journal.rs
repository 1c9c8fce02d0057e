//! Record of the upstream's requests, for tests to inspect.
//!
//! Handlers call `record` for each call and hold the `OpenCall` that `open` returns
//! until the response has ended, so that tests see when a server hangs up.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use actix_web::http::header::HeaderMap;
use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;

/// Headers that carry secrets and are not stored.
const SECRET_HEADERS: &[&str] =
    &["authorization", "proxy-authorization", "cookie", "api-key", "x-api-key"];

/// Numbers of received and of open calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallCounts {
    /// Chat calls since the start.
    pub calls: u64,
    /// Chat calls that have neither been fully answered nor aborted.
    pub open: u64,
    /// Open requests that stream.
    pub open_streams: u64,
}

/// Headers and body of a chat call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Recorded {
    /// Headers, except those that carry secrets.
    pub headers: BTreeMap<String, String>,
    /// Body; null before the first call, and if it is not JSON.
    pub body: Value,
}

/// Counters of calls and the last one, shared by all clones.
#[derive(Clone)]
pub(crate) struct Journal {
    counts: watch::Sender<CallCounts>,
    last: Arc<Mutex<(BTreeMap<String, String>, Bytes)>>,
}

/// Guard of an open call, which ends when the guard is dropped.
pub(crate) struct OpenCall {
    counts: watch::Sender<CallCounts>,
    streamed: bool,
}

impl Journal {
    pub(crate) fn new() -> Self {
        Self { counts: watch::Sender::new(CallCounts::default()), last: Arc::default() }
    }

    pub(crate) fn record(&self, headers: &HeaderMap, body: &Bytes) {
        let public_headers = headers
            .iter()
            .filter(|(name, _)| !SECRET_HEADERS.contains(&name.as_str()))
            .map(|(name, value)| {
                (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
            })
            .collect();
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = (public_headers, body.clone());
        self.counts.send_modify(|it| it.calls += 1);
    }

    pub(crate) fn open(&self, streamed: bool) -> OpenCall {
        self.counts.send_modify(|it| {
            it.open += 1;
            it.open_streams += u64::from(streamed);
        });
        OpenCall { counts: self.counts.clone(), streamed }
    }

    pub(crate) fn call_counts(&self) -> CallCounts {
        *self.counts.borrow()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<CallCounts> {
        self.counts.subscribe()
    }

    pub(crate) fn last(&self) -> Recorded {
        let (headers, body) = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Recorded { headers, body: serde_json::from_slice(&body).unwrap_or_default() }
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.counts.send_modify(|it| {
            it.open = it.open.saturating_sub(1);
            it.open_streams = it.open_streams.saturating_sub(u64::from(self.streamed));
        });
    }
}
