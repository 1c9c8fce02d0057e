//! The surface that a call came through.

/// The surface that a call came through, by which its caller expects models to
/// be named and failures to be reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Surface {
    /// The one that the desktop client knows: a model that the caller may not
    /// name is passed over, and an error is a text.
    #[default]
    Desktop,
    /// The one of OpenAI's clients: such a model is an error, and an error is
    /// an object.
    OpenAi,
}
