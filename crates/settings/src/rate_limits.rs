//! `RateLimits`: rate limits of callers.

use std::time::Duration;

use pia_identity::RateQuota;
use pia_web::Quotas;

use super::section::Section;

const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);

/// Rate limits of callers.
#[derive(Debug, Clone)]
pub struct RateLimits {
    /// Buckets, initially full and refilled evenly.
    pub quotas: Quotas,
}

impl RateLimits {
    pub(super) fn from_section(from: &mut Section<'_>) -> Self {
        let mut quota = |name: &str, burst: u32, window: Duration| RateQuota {
            burst: from.reload(name).within(burst, 1..=1_000_000),
            window,
        };

        Self {
            quotas: Quotas {
                global: quota("Global", 100, MINUTE),
                auth: quota("Auth", 10, MINUTE),
                local_auth: quota("LocalAuth", 5, MINUTE),
                sync: quota("Sync", 300, MINUTE),
                ai: quota("Ai", 30, MINUTE),
                feedback: quota("Feedback", 30, HOUR),
                pod_uplink: quota("PodUplink", 30, MINUTE),
                // Entra ID sends up to 25 requests a second.
                scim: quota("Scim", 1_500, MINUTE),
            },
        }
    }
}
