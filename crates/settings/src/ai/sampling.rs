//! `UnsupportedParameters`: parameters that a model rejects.

use pia_assistant::SAMPLING;

use crate::error::Reason;
use crate::section::Section;
use crate::setting::Setting;
use crate::snapshot::Effect;

/// Returns the parameters that are removed from requests.
pub(super) fn unsupported(from: &mut Section<'_>, effect: Effect) -> Vec<&'static str> {
    let parameters: Vec<Parameter> = from.field("UnsupportedParameters", effect).list();
    parameters.into_iter().map(|it| it.0).collect()
}

/// Parameter among [`SAMPLING`].
struct Parameter(&'static str);

impl Setting for Parameter {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        SAMPLING
            .into_iter()
            .find(|it| it.eq_ignore_ascii_case(text.trim()))
            .map(Self)
            .ok_or(Reason::form("expected temperature, top_p or top_k"))
    }

    fn format(&self) -> String {
        self.0.to_owned()
    }
}
