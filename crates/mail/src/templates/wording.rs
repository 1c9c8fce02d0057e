//! A letter's words, before they are laid out.

/// A letter's words in one language.
#[derive(Debug)]
pub(super) struct Wording {
    /// Line, with nothing filled in: no header can be made by it.
    pub(super) subject: &'static str,
    pub(super) greeting: &'static str,
    /// First paragraph: the event, or the purpose of the email.
    pub(super) opening: String,
    /// Link to follow, and its label.
    pub(super) action: Option<Action>,
    /// Consequences, and what to do if it was somebody else.
    pub(super) advice: Vec<String>,
}

/// A link with what it does.
#[derive(Debug)]
pub(super) struct Action {
    pub(super) label: &'static str,
    pub(super) url: String,
    /// For how long.
    pub(super) ends: Option<String>,
}
