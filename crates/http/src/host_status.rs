//! Machine that this instance of the server runs on.
//!
//! `HostStatus` is a port; `server/src/host.rs` implements it. The thresholds of what
//! needs attention are here, and `problem.rs` applies them.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use pia_kernel::Timestamp;

/// Free space below which a volume is full soon, whatever its size.
const MIN_FREE_BYTES: u64 = 1 << 30;
/// Part of a volume below which its free space is low: one of this many.
const MIN_FREE_PART: u64 = 20;
/// Time before the end of a TLS certificate from which it needs attention.
/// Services that renew certificates do so a month before.
const CERTIFICATE_NOTICE: Duration = Duration::from_hours(14 * 24);

/// Volume that contains files of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    /// Folder of the server on this volume.
    pub folder: PathBuf,
    /// Free space that the server may use, in bytes.
    pub free: u64,
    /// Size in bytes.
    pub size: u64,
}

/// Machine that this instance of the server runs on.
#[async_trait]
pub trait HostStatus: Send + Sync {
    /// Returns the end of the TLS certificate; `None` if the server does not
    /// terminate TLS.
    fn certificate_expires_at(&self) -> Option<Timestamp>;

    /// Returns the volumes of the server's files, except those that cannot be
    /// measured in time.
    async fn volumes(&self) -> Vec<Volume>;
}

impl Volume {
    /// Returns whether less than 1 GiB is free, or less than 5 %.
    pub fn is_nearly_full(&self) -> bool {
        self.free < MIN_FREE_BYTES || self.free < self.size / MIN_FREE_PART
    }
}

/// Returns whether a certificate expires within two weeks, or has expired.
pub(crate) fn expires_soon(expires_at: Timestamp, now: Timestamp) -> bool {
    expires_at < now + CERTIFICATE_NOTICE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_is_nearly_full_below_a_gibibyte_or_a_twentieth() {
        let gib = |free: u64, size: u64| Volume {
            folder: PathBuf::new(),
            free: free << 30,
            size: size << 30,
        };

        assert!(!gib(1, 8).is_nearly_full());
        assert!(gib(0, 8).is_nearly_full());
        assert!(!gib(50, 1000).is_nearly_full());
        assert!(gib(49, 1000).is_nearly_full());
    }

    #[test]
    fn a_certificate_needs_attention_two_weeks_before_its_end() {
        let end = Timestamp::from_micros(2_000_000_000_000_000);

        assert!(!expires_soon(end, end - CERTIFICATE_NOTICE));
        assert!(expires_soon(end, end - CERTIFICATE_NOTICE + Duration::from_secs(1)));
    }
}
