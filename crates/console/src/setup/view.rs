//! What the page says.

use askama::Template;
use pia_identity::Account;
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
    /// What is left to do.
    form: Form,
    /// What was sent as a licence, to be mended and sent again. The token
    /// never comes back.
    license: String,
    /// What was sent as the administrator's address, likewise. Their password
    /// never comes back either.
    email: String,
}

/// Which form is shown.
#[derive(Default, PartialEq, Eq)]
pub(super) enum Form {
    License,
    Administrator,
    #[default]
    NotNeeded,
}

impl SetupView {
    fn new(status: impl Into<String>, form: Form) -> Self {
        Self {
            status: status.into(),
            alert: String::new(),
            facts: Vec::new(),
            form,
            license: String::new(),
            email: String::new(),
        }
    }

    /// No licence is in force.
    pub(super) fn unlicensed(standing: &SetupStanding) -> Self {
        let status = match standing {
            SetupStanding::Done => return Self::licensed(Form::NotNeeded),
            SetupStanding::NoLicence => {
                "This server has no licence yet. It needs one to work.".to_owned()
            }
            SetupStanding::Refused(fault) => {
                format!("The licence file of this server is not accepted. {}", sentence(fault))
            }
            SetupStanding::Ended(at) => format!(
                "The licence of this server ended at {at}. Until there is a new one, people \
                 can sign in and read, but not write."
            ),
        };
        Self::new(status, Form::License)
    }

    /// A licence is in force.
    pub(super) fn licensed(next: Form) -> Self {
        let status = match next {
            Form::Administrator => {
                "This server has a licence, and no administrator yet. Make the first one."
            }
            Form::License | Form::NotNeeded => {
                "This server is set up: a licence is in force, it has an administrator, and \
                 nothing is left to do here."
            }
        };
        Self::new(status, next)
    }

    /// There is an administrator now.
    pub(super) fn administered(account: &Account) -> Self {
        let status = "The administrator's account is made: sign in with it. This server is set up.";
        let facts = vec![("Administrator", account.email.clone())];
        Self { facts, ..Self::new(status, Form::NotNeeded) }
    }

    /// The same page after what was sent in its form was not taken.
    pub(super) fn refused(self, alert: String, license: String) -> Self {
        Self { alert, license, ..self }
    }

    /// The same page after nobody was made administrator.
    pub(super) fn not_appointed(self, alert: String, email: String) -> Self {
        Self { alert, email, ..self }
    }

    pub(super) fn installed(licence: &Licence, next: Form) -> Self {
        let names: Vec<_> = licence.features.iter().map(|it| it.name()).collect();
        let count = |it: Option<u32>| it.map_or_else(|| "no limit".to_owned(), |it| it.to_string());
        let end = licence.expires_at.map_or_else(|| "never".to_owned(), |it| it.to_string());
        let status = match next {
            Form::Administrator => "The licence is in force. Now make the first administrator.",
            Form::License | Form::NotNeeded => "The licence is in force. This server is set up.",
        };
        Self {
            facts: vec![
                ("Licensee", licence.licensee.clone()),
                ("Edition", licence.edition.clone()),
                ("Features", names.join(", ")),
                ("Accounts", count(licence.max_users)),
                ("Administrators", count(licence.max_admins)),
                ("Ends", end),
            ],
            ..Self::new(status, next)
        }
    }
}
