//! Calls of the server: their time limits and errors.

use std::time::Duration;

use qdrant_client::QdrantError;
use tonic::Code;

use crate::setup_error::VectorSetupError;

/// Duration after which a read has failed.
pub(super) const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// Duration after which a write has failed.
pub(super) const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Reasons why a call failed, without the headers that the client's error has.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    /// Server did not answer in time.
    #[error("no answer within {} s", .0.as_secs())]
    Timeout(Duration),
    /// Name is unknown to the server.
    #[error("not found: {0}")]
    NotFound(String),
    /// Call was rejected, or did not reach the server.
    #[error("{0}")]
    Failed(String),
    /// Answer contains a point that is no chunk's.
    #[error("a point has no UUID")]
    Point,
}

impl From<QdrantError> for CallError {
    fn from(err: QdrantError) -> Self {
        match err {
            QdrantError::ResponseError { status }
            | QdrantError::ResourceExhaustedError { status, .. } => {
                let message = status.message();
                match status.code() {
                    Code::NotFound => Self::NotFound(message.to_owned()),
                    code => Self::Failed(format!("{code:?}: {message}")),
                }
            }
            other => Self::Failed(other.to_string()),
        }
    }
}

impl From<CallError> for VectorSetupError {
    fn from(err: CallError) -> Self {
        Self::Server(err.to_string())
    }
}

/// Waits for the answer of a call, at most for this duration.
pub(super) fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, QdrantError>>,
) -> impl Future<Output = Result<T, CallError>> {
    // On the heap, since the client's futures take tens of kilobytes.
    let call = Box::pin(call);
    async move {
        let answer = tokio::time::timeout(limit, call).await;
        answer.map_err(|_reason| CallError::Timeout(limit))?.map_err(Into::into)
    }
}
