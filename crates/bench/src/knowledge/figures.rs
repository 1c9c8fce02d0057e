//! Figures of searches, of ingestion and of quality, in each round.

use crate::measured::{Aim, Measured};

/// Kind of figure of the vector store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SearchMetric {
    P50,
    P99,
    EngineP50,
    EngineP99,
    Ratio,
    Recall,
    Written,
    Loaded,
    First,
    Resident,
    Anonymous,
    Disk,
}

impl Measured for SearchMetric {
    const ALL: &'static [Self] = &[
        Self::P50,
        Self::P99,
        Self::EngineP50,
        Self::EngineP99,
        Self::Ratio,
        Self::Recall,
        Self::Written,
        Self::Loaded,
        Self::First,
        Self::Resident,
        Self::Anonymous,
        Self::Disk,
    ];

    fn label(self) -> &'static str {
        match self {
            Self::P50 => "search, p50, ms",
            Self::P99 => "search, p99, ms",
            Self::EngineP50 => "the engine alone, p50, ms",
            Self::EngineP99 => "the engine alone, p99, ms",
            Self::Ratio => "search beside the engine alone, p99",
            Self::Recall => "recall@10 of dense vectors beside brute force",
            Self::Written => "chunks/s written",
            Self::Loaded => "opening the store, s",
            Self::First => "the first search after opening, ms",
            Self::Resident => "resident after opening and searching, more than before, MB",
            Self::Anonymous => "of this not mapped from files, MB",
            Self::Disk => "KiB a chunk on the disk",
        }
    }

    fn digits(self) -> usize {
        match self {
            Self::Recall => 3,
            Self::Written => 0,
            Self::Resident | Self::Anonymous | Self::Disk => 1,
            _ => 2,
        }
    }

    fn aim(self) -> Option<Aim> {
        match self {
            Self::Ratio => Some(Aim::AtMost(1.2)),
            Self::Recall => Some(Aim::AtLeast(0.95)),
            _ => None,
        }
    }
}

/// Kind of figure of ingestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum IngestMetric {
    Local,
    LocalShare,
    LocalIdle,
    Provider,
    ProviderShare,
    ProviderIdle,
    TurnP50,
    TurnP99,
}

impl Measured for IngestMetric {
    const ALL: &'static [Self] = &[
        Self::Local,
        Self::LocalShare,
        Self::LocalIdle,
        Self::Provider,
        Self::ProviderShare,
        Self::ProviderIdle,
        Self::TurnP50,
        Self::TurnP99,
    ];

    fn label(self) -> &'static str {
        match self {
            Self::Local => "local embedder: chunks/s",
            Self::LocalShare => "local embedder: share of the workers' time outside it",
            Self::LocalIdle => "local embedder: share of the time without a call of it",
            Self::Provider => "100 ms a batch: chunks/s",
            Self::ProviderShare => "100 ms a batch: share of the embedder's capacity unused",
            Self::ProviderIdle => {
                "100 ms a batch: share of the time without a call of the embedder"
            }
            Self::TurnP50 => "added to a turn before its first token, p50, ms",
            Self::TurnP99 => "added to a turn before its first token, p99, ms",
        }
    }

    fn digits(self) -> usize {
        match self {
            Self::Local | Self::Provider => 0,
            Self::TurnP50 | Self::TurnP99 => 1,
            _ => 3,
        }
    }

    fn aim(self) -> Option<Aim> {
        match self {
            Self::Local => Some(Aim::AtLeast(500.0)),
            Self::ProviderShare => Some(Aim::Below(0.1)),
            _ => None,
        }
    }
}

/// Kind of figure of what is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum QualityMetric {
    Recall,
    Ndcg,
    English,
    German,
}

impl Measured for QualityMetric {
    const ALL: &'static [Self] = &[Self::Recall, Self::Ndcg, Self::English, Self::German];

    fn label(self) -> &'static str {
        match self {
            Self::Recall => "recall@5",
            Self::Ndcg => "nDCG@10",
            Self::English => "nDCG@10, questions in English",
            Self::German => "nDCG@10, questions in German",
        }
    }

    fn digits(self) -> usize {
        3
    }

    fn aim(self) -> Option<Aim> {
        None
    }
}
