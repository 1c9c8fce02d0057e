//! Examples for the tests.

use std::sync::Arc;

use pia_kernel::{AssignmentId, LiveSetting, Timestamp, UserId};
use pia_testkit::ManualClock;

use crate::built_in::built_in_skills;
use crate::{AssignmentSettings, InputEnvelope, Run, RunClaim, Skill};

pub(crate) const NOW: Timestamp = Timestamp::UNIX_EPOCH;

pub(crate) fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(NOW))
}

pub(crate) fn settings() -> LiveSetting<AssignmentSettings> {
    LiveSetting::new(AssignmentSettings::default())
}

pub(crate) fn research() -> Skill {
    let [research, _] = built_in_skills();
    research
}

pub(crate) fn brief() -> Skill {
    let [_, brief] = built_in_skills();
    brief
}

/// Returns a run of the brief before its first step.
pub(crate) fn new_run() -> Run {
    Run {
        claim: RunClaim { id: AssignmentId::generate(), fence: 1 },
        user: UserId::generate(),
        skill: brief(),
        input: InputEnvelope { prompt: "Brief me on the move.".to_owned(), items: Vec::new() },
        step_count: 0,
        outputs: Vec::new(),
        tokens_spent: 0,
        failed_attempts: 0,
        tools: None,
        started_at: NOW,
    }
}
