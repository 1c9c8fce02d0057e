//! `UnsupportedParameters`: parameters that a model refuses.

use pia_assistant::SAMPLING;

use crate::fault::Reason;
use crate::section::Section;
use crate::setting::Setting;
use crate::snapshot::Effect;

/// The parameters that requests are sent without.
pub(super) fn unsupported(from: &mut Section<'_>, effect: Effect) -> Vec<&'static str> {
    let listed: Vec<Parameter> = from.field("UnsupportedParameters", effect).list();
    listed.into_iter().map(|it| it.0).collect()
}

/// One of [`SAMPLING`].
struct Parameter(&'static str);

impl Setting for Parameter {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        let known = SAMPLING.into_iter().find(|it| it.eq_ignore_ascii_case(text.trim()));
        known.map(Self).ok_or(Reason::form("expected temperature, top_p or top_k"))
    }

    fn format(&self) -> String {
        self.0.to_owned()
    }
}
