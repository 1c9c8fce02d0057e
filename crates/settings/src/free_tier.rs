//! `FreeTier`: users without a paid plan.

use pia_assistant::FreeTier;
use pia_kernel::GroupId;
use uuid::Uuid;

use super::error::Reason;
use super::section::Section;
use super::setting::Setting;

pub(super) fn from_section(from: &mut Section<'_>) -> FreeTier {
    let suspended = from.reload("Suspended").or(false);
    let group = from.reload("GroupId").optional();
    if suspended {
        let text = "nobody can make an account, and the free group is not served by AI models";
        from.warn("Suspended", text);
    }
    FreeTier { suspended, group }
}

impl Setting for GroupId {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        Uuid::try_parse(text.trim())
            .map(Self)
            .map_err(|_err| Reason::form("expected the id of a group"))
    }

    fn format(&self) -> String {
        self.to_string()
    }
}
