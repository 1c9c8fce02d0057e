//! Surface of a call.

/// Surface of a call, which determines the treatment of model names and the
/// format of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Surface {
    /// API of the desktop client: a model that the caller may not use is
    /// ignored, and an error is a text.
    #[default]
    Desktop,
    /// API of OpenAI's clients: such a model is an error, and an error is an
    /// object.
    OpenAi,
}
