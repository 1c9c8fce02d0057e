//! Errors of setting up a vector store.

use std::io;

/// Reasons why a vector store cannot be set up. None contains a key.
#[derive(Debug, thiserror::Error)]
pub enum VectorSetupError {
    /// Folder cannot be used.
    #[error("the folder of the vector store cannot be used: {0}")]
    Folder(#[from] io::Error),
    /// Folder is in use.
    #[error("another process uses the folder of the vector store")]
    InUse,
    /// Vectors are stored in another format.
    #[error("the vector store has {found}, not {expected}; remove it, and it is built again")]
    Format {
        /// Format that is stored.
        found: String,
        /// Format that is required.
        expected: String,
    },
    /// Engine rejects the folder.
    #[error("the vector store cannot be opened: {0}")]
    Engine(String),
    /// Server does not answer, or rejects a request.
    #[error("the server of the vector store cannot be used: {0}")]
    Server(String),
}
