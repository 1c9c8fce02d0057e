//! What the page says.

use askama::Template;
use pia_policy::{Licence, SetupStanding};

use crate::refusal::sentence;

/// The page. What is empty is not shown.
#[derive(Template)]
#[template(path = "setup.html")]
pub(super) struct SetupView {
    /// How things stand.
    status: String,
    /// Why what was sent is not taken.
    alert: String,
    /// What was put in, as names and values.
    facts: Vec<(&'static str, String)>,
    /// Whether there is something left to do.
    form: Form,
    /// What was sent as a licence, to be mended and sent again. The token
    /// never comes back.
    license: String,
}

#[derive(PartialEq, Eq)]
enum Form {
    Shown,
    NotNeeded,
}

impl SetupView {
    pub(super) fn of(standing: &SetupStanding) -> Self {
        let (status, form) = match standing {
            SetupStanding::Done => (
                "This server is set up: a licence is in force, and nothing is left to do here."
                    .to_owned(),
                Form::NotNeeded,
            ),
            SetupStanding::NoLicence => {
                ("This server has no licence yet. It needs one to work.".to_owned(), Form::Shown)
            }
            SetupStanding::Refused(fault) => (
                format!("The licence file of this server is not accepted. {}", sentence(fault)),
                Form::Shown,
            ),
            SetupStanding::Ended(at) => (
                format!(
                    "The licence of this server ended at {at}. Until there is a new one, people \
                     can sign in and read, but not write."
                ),
                Form::Shown,
            ),
        };
        Self { status, alert: String::new(), facts: Vec::new(), form, license: String::new() }
    }

    /// The same page after what was sent in its form was not taken.
    pub(super) fn refused(self, alert: String, license: String) -> Self {
        Self { alert, license, ..self }
    }

    pub(super) fn installed(licence: &Licence) -> Self {
        let names: Vec<_> = licence.features.iter().map(|it| it.name()).collect();
        let count = |it: Option<u32>| it.map_or_else(|| "no limit".to_owned(), |it| it.to_string());
        let end = licence.expires_at.map_or_else(|| "never".to_owned(), |it| it.to_string());
        Self {
            status: "The licence is in force. This server is set up.".to_owned(),
            facts: vec![
                ("Licensee", licence.licensee.clone()),
                ("Edition", licence.edition.clone()),
                ("Features", names.join(", ")),
                ("Accounts", count(licence.max_users)),
                ("Administrators", count(licence.max_admins)),
                ("Ends", end),
            ],
            ..Self::of(&SetupStanding::Done)
        }
    }
}
