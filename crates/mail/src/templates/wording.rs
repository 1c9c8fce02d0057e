//! Texts of an email, before the layout.

/// Texts of an email in one language.
#[derive(Debug)]
pub(super) struct Wording {
    /// Subject, a constant: no field value can inject a header.
    pub(super) subject: &'static str,
    pub(super) greeting: &'static str,
    /// First paragraph: the event, or the purpose of the email.
    pub(super) opening: String,
    /// Link to follow, and its label.
    pub(super) action: Option<Action>,
    /// Consequences, and advice if it was someone else.
    pub(super) advice: Vec<String>,
    /// Facts of the event, each with its label.
    pub(super) facts: Vec<(&'static str, String)>,
    /// Footer, which names the server.
    pub(super) sender: String,
}

/// Link with its label.
#[derive(Debug)]
pub(super) struct Action {
    pub(super) label: &'static str,
    pub(super) url: String,
    /// Sentence on the validity of the link.
    pub(super) ends: Option<String>,
}
