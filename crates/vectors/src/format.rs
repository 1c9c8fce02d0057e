//! Format of stored vectors, which both stores check when they are set up.

use std::fmt;

use pia_knowledge::VECTOR_SIZE;

use crate::setup_error::VectorSetupError;

/// Format of stored vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VectorFormat {
    /// Dimensions of dense vectors; `None` if there are no dense vectors.
    pub(crate) dimensions: Option<usize>,
    /// True if dense vectors are compared by their cosines.
    pub(crate) is_cosine: bool,
    /// True if there are terms, weighted by the inverse document frequency.
    pub(crate) has_terms: bool,
}

impl VectorFormat {
    /// Format that both stores have.
    const REQUIRED: Self = Self { dimensions: Some(VECTOR_SIZE), is_cosine: true, has_terms: true };

    /// Checks that this format is the required one.
    pub(crate) fn check(self) -> Result<(), VectorSetupError> {
        if self == Self::REQUIRED {
            return Ok(());
        }
        let found = self.to_string();
        let expected = Self::REQUIRED.to_string();
        Err(VectorSetupError::Format { found, expected })
    }
}

impl fmt::Display for VectorFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dimensions {
            Some(dimensions) => write!(f, "vectors of {dimensions} dimensions")?,
            None => f.write_str("no dense vectors")?,
        }
        let comparison = if self.is_cosine { "by cosine" } else { "by another distance" };
        let terms = if self.has_terms { "with weighted terms" } else { "without weighted terms" };
        write!(f, " {comparison} {terms}")
    }
}
