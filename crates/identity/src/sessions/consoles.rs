//! Sessions of administrators' browsers, known by a cookie.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pia_kernel::{LiveSetting, Secret, Unavailable};
use ring::digest;

use crate::people::account::{Account, CallerState};
use crate::ports::SignInMethod;
use crate::sessions::access_tokens::{AccessTokens, SessionRef};
use crate::sessions::{RevokeError, Sessions, StartError};
use crate::sign_in::device::SignInDevice;

/// Settings of sessions in the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsoleSettings {
    /// Time without use after which a session ends.
    pub idle: Duration,
    /// Time after which a session ends however it is used.
    pub lifetime: Duration,
    /// True if only accounts with a second factor may sign in.
    pub require_second_factor: bool,
}

impl Default for ConsoleSettings {
    fn default() -> Self {
        Self {
            idle: Duration::from_mins(30),
            lifetime: Duration::from_hours(12),
            require_second_factor: true,
        }
    }
}

/// Session of a browser in the console that has just begun.
#[derive(Debug, Clone)]
pub struct ConsoleSession {
    /// Value of the browser's cookie.
    pub cookie: Secret<String>,
    /// Token that the browser sends with every write.
    pub csrf_token: String,
    /// Time until the session ends however it is used.
    pub lifetime: Duration,
}

/// Sessions of browsers in the console.
///
/// A session is a row like any other, ended by whatever ends the account's
/// sessions. The cookie is a signed token with an audience of its own, so that
/// it opens nothing as a bearer, and no bearer opens the console.
#[derive(Clone)]
pub struct ConsoleSessions {
    sessions: Sessions,
    tokens: AccessTokens,
    settings: LiveSetting<ConsoleSettings>,
}

impl ConsoleSessions {
    /// Creates sessions whose cookies are `tokens`.
    pub fn new(
        sessions: Sessions,
        tokens: AccessTokens,
        settings: LiveSetting<ConsoleSettings>,
    ) -> Self {
        Self { sessions, tokens, settings }
    }

    /// Returns the current settings.
    pub(crate) fn settings(&self) -> ConsoleSettings {
        *self.settings.get()
    }

    /// Begins a session of an account whose owner has proved who they are.
    pub(crate) async fn start(
        &self,
        account: &Account,
        method: SignInMethod,
        device: SignInDevice,
    ) -> Result<ConsoleSession, StartError> {
        let ConsoleSettings { idle, lifetime, .. } = self.settings();
        let session = self.sessions.start_console(account, method, device, idle).await?;
        let cookie = self.tokens.issue_for(session, lifetime)?.token;
        let csrf_token = Self::csrf_token(cookie.expose());
        Ok(ConsoleSession { cookie, csrf_token, lifetime })
    }

    /// Returns the session of a cookie, if the cookie is valid now; whether the
    /// session still exists is not checked.
    pub fn verify(&self, cookie: &str) -> Option<SessionRef> {
        self.tokens.verify(cookie)
    }

    /// Loads the caller of a session, and extends the session; nothing if it
    /// has ended.
    pub async fn caller(&self, session: SessionRef) -> Result<Option<CallerState>, Unavailable> {
        self.sessions.console_caller(session, self.settings().idle).await
    }

    /// Ends a session.
    pub async fn end(&self, session: SessionRef) -> Result<(), RevokeError> {
        self.sessions.end_console(session).await
    }

    /// Returns the token that a browser with this cookie sends with every
    /// write: pages of other sites cannot read it, and cannot derive it.
    pub fn csrf_token(cookie: &str) -> String {
        let text = format!("pia console csrf token\0{cookie}");
        URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, text.as_bytes()))
    }
}
