//! Sessions of browsers, identified by a cookie.
//!
//! `BrowserSignIn` starts them; the gates verify the cookie and the CSRF
//! token (`web/src/gates/console.rs`) and call `caller`, which extends the
//! session.

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
    /// Time after which a session ends, regardless of use.
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

/// Pages that a browser signs in to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrowserArea {
    /// Console of administrators and managers. Its sessions open the pages of one's own account
    /// too.
    Console,
    /// Pages of one's own account, and nothing else.
    Account,
}

/// Sign-in of a browser that is about to start a session.
pub(crate) struct BrowserStart {
    pub(crate) area: BrowserArea,
    pub(crate) method: SignInMethod,
    pub(crate) device: SignInDevice,
    /// Time without use after which the session ends.
    pub(crate) idle: Duration,
}

/// New session of a browser.
#[derive(Debug, Clone)]
pub struct BrowserSession {
    /// Session, for the signed cookie.
    pub session: SessionRef,
    /// Value of the browser's cookie.
    pub cookie: Secret<String>,
    /// Token that the browser sends with every write.
    pub csrf_token: String,
    /// Time until the session ends, regardless of use.
    pub lifetime: Duration,
}

/// Sessions of browsers in the console, and in the pages of one's own account.
///
/// A session is stored like any other and ends with the account's others. The cookie is a signed
/// token with a separate audience: it is not accepted as a bearer token, nor is a bearer token as a
/// cookie.
#[derive(Clone)]
pub struct ConsoleSessions {
    sessions: Sessions,
    tokens: AccessTokens,
    settings: LiveSetting<ConsoleSettings>,
}

impl ConsoleSessions {
    /// Creates sessions whose cookies are issued by `tokens`.
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

    /// Starts a session of an authenticated account.
    pub(crate) async fn start(
        &self,
        area: BrowserArea,
        method: SignInMethod,
        account: &Account,
        device: SignInDevice,
    ) -> Result<BrowserSession, StartError> {
        let ConsoleSettings { idle, lifetime, .. } = self.settings();
        let start = BrowserStart { area, method, device, idle };
        let session = self.sessions.start_browser(account, start).await?;
        let cookie = self.tokens.issue_for(session, lifetime)?.token;
        let csrf_token = Self::csrf_token(cookie.expose());
        Ok(BrowserSession { session, cookie, csrf_token, lifetime })
    }

    /// Returns the session of a valid cookie, without checking that the session still exists.
    pub fn verify(&self, cookie: &str) -> Option<SessionRef> {
        self.tokens.verify(cookie)
    }

    /// Loads the caller of a session and extends the session; `None` if it has ended.
    pub async fn caller(&self, session: SessionRef) -> Result<Option<CallerState>, Unavailable> {
        self.sessions.console_caller(session, self.settings().idle).await
    }

    /// Ends a session; one that is over stays so.
    pub async fn end(&self, session: SessionRef) -> Result<(), RevokeError> {
        self.sessions.end_console(session).await
    }

    /// Returns the token that a browser with this cookie sends with every write. Pages of other
    /// sites can neither read nor derive it.
    pub fn csrf_token(cookie: &str) -> String {
        let text = format!("pia console csrf token\0{cookie}");
        URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, text.as_bytes()))
    }
}
