//! Metrics measured for each contender.

/// Kind of figure; lower is better, except for the two rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Metric {
    P50Gentle,
    P99Gentle,
    P50Slow,
    P99Slow,
    P50Fast,
    P99Fast,
    PerSecond,
    Chunk,
    Cpu,
    Recorded,
    OpenStream,
    Stalled,
    Grown,
    Resident,
    SignIns,
    Health,
    ResidentAfterSignIns,
}

impl Metric {
    /// Metrics in the order of the report.
    pub(crate) const ALL: [Self; 17] = [
        Self::P50Gentle,
        Self::P99Gentle,
        Self::P50Slow,
        Self::P99Slow,
        Self::P50Fast,
        Self::P99Fast,
        Self::PerSecond,
        Self::Chunk,
        Self::Cpu,
        Self::Recorded,
        Self::OpenStream,
        Self::Stalled,
        Self::Grown,
        Self::Resident,
        Self::SignIns,
        Self::Health,
        Self::ResidentAfterSignIns,
    ];

    /// Returns the name in the report, with its unit.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::P50Gentle => "p50 at 20/s, ms",
            Self::P99Gentle => "p99 at 20/s, ms",
            Self::P50Slow => "p50 at 100/s, ms",
            Self::P99Slow => "p99 at 100/s, ms",
            Self::P50Fast => "p50 at 1000/s, ms",
            Self::P99Fast => "p99 at 1000/s, ms",
            Self::PerSecond => "requests/s at 32 connections",
            Self::Chunk => "a chunk of a 100-chunk stream, µs",
            Self::Cpu => "CPU a request, µs",
            Self::Recorded => "usage records a call",
            Self::OpenStream => "an open stream of 512, KB",
            Self::Stalled => "10 readers stand still for 1 s, MB",
            Self::Grown => "10 readers stand still for 10 s more, MB",
            Self::Resident => "resident after the load, MB",
            Self::SignIns => "sign-ins/s, all at once",
            Self::Health => "`/health` p99 while they run, ms",
            Self::ResidentAfterSignIns => "resident after the sign-ins, MB",
        }
    }

    /// Returns the number of significant digits after the decimal point.
    pub(crate) fn digits(self) -> usize {
        match self {
            Self::P50Gentle
            | Self::P99Gentle
            | Self::P50Slow
            | Self::P99Slow
            | Self::P50Fast
            | Self::P99Fast
            | Self::Recorded => 3,
            Self::Chunk | Self::Health | Self::Stalled | Self::Grown => 2,
            Self::OpenStream
            | Self::Cpu
            | Self::Resident
            | Self::ResidentAfterSignIns
            | Self::SignIns => 1,
            Self::PerSecond => 0,
        }
    }

    /// Returns `true` if the difference to the bare proxy is more meaningful
    /// than the value.
    pub(crate) fn is_latency(self) -> bool {
        matches!(self, Self::P50Slow | Self::P99Slow | Self::P50Fast | Self::P99Fast | Self::Chunk)
    }
}
