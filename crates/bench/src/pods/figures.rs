//! Figures of pods, in each round.

use crate::measured::{Aim, Measured};

/// Kind of figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Metric {
    RawEcho,
    Record,
    Link,
    Call,
    CallOverRaw,
    ReadCall,
    Calls,
    Across,
    Direct,
}

impl Measured for Metric {
    const ALL: &'static [Self] = &[
        Self::RawEcho,
        Self::Record,
        Self::Link,
        Self::Call,
        Self::CallOverRaw,
        Self::ReadCall,
        Self::Calls,
        Self::Across,
        Self::Direct,
    ];

    fn label(self) -> &'static str {
        match self {
            Self::RawEcho => "raw echo over a WebSocket, p50, ms",
            Self::Record => "record of a call, p50, ms",
            Self::Link => "echo of the pod without grant and record, p50, ms",
            Self::Call => "call of the echo tool, p50, ms",
            Self::CallOverRaw => "call beyond the raw echo, p50, ms",
            Self::ReadCall => "call whose grant is read, p50, ms",
            Self::Calls => "calls/s of one pod, 16 at a time",
            Self::Across => "call from another instance, p50, ms",
            Self::Direct => "direct request to the pod's instance, p50, ms",
        }
    }

    fn digits(self) -> usize {
        match self {
            Self::Calls => 0,
            _ => 3,
        }
    }

    fn aim(self) -> Option<Aim> {
        match self {
            Self::CallOverRaw => Some(Aim::AtMost(0.3)),
            Self::Across => Some(Aim::AtMost(2.0)),
            _ => None,
        }
    }
}
