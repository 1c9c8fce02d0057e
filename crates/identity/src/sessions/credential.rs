//! Credentials of requests.

use pia_kernel::UserId;

use crate::people::account::ApiKeyRef;
use crate::sessions::access_tokens::SessionRef;

/// Verified credential of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Credential {
    /// Access token of a session.
    Session(SessionRef),
    /// API key of a script.
    ApiKey(ApiKeyRef),
}

impl Credential {
    /// Returns the account that it belongs to.
    pub fn user(self) -> UserId {
        match self {
            Self::Session(session) => session.user,
            Self::ApiKey(key) => key.user,
        }
    }

    /// Returns the session; `None` for an API key.
    pub fn session(self) -> Option<SessionRef> {
        match self {
            Self::Session(session) => Some(session),
            Self::ApiKey(_) => None,
        }
    }
}

impl From<SessionRef> for Credential {
    fn from(session: SessionRef) -> Self {
        Self::Session(session)
    }
}

impl From<ApiKeyRef> for Credential {
    fn from(key: ApiKeyRef) -> Self {
        Self::ApiKey(key)
    }
}
