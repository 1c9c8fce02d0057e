//! `Admin`: sessions in the administration console.

use std::time::Duration;

use pia_identity::ConsoleSettings;

use super::section::Section;

const MINUTE: Duration = Duration::from_mins(1);
const DAY: Duration = Duration::from_hours(24);

pub(super) fn from_section(from: &mut Section<'_>) -> ConsoleSettings {
    let default = ConsoleSettings::default();
    ConsoleSettings {
        idle: from.reload("SessionIdleTimeout").within(default.idle, MINUTE..=DAY),
        lifetime: from.reload("SessionLifetime").within(default.lifetime, MINUTE..=DAY * 30),
        require_second_factor: from.reload("RequireSecondFactor").or(default.require_second_factor),
    }
}
