//! `Jwt`: signing keys and lifetimes of tokens.

use std::time::Duration;

use pia_identity::{SessionSettings, SigningKeys, TokenNames};
use pia_kernel::Secret;

use super::error::Reason;
use super::known_secrets;
use super::section::Section;
use super::setting::Setting;

const MIN_SECRET_CHARS: usize = 32;
const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_hours(24);

/// Tokens and sessions.
#[derive(Debug, Clone)]
pub struct Jwt {
    /// Keys that sign access tokens, and under which refresh tokens are hashed.
    pub keys: SigningKeys,
    /// Issuer and audience of access tokens.
    pub names: TokenNames,
    /// Lifetimes of tokens, and the maximum number of sessions per user.
    pub sessions: SessionSettings,
}

impl Jwt {
    pub(super) fn from_section(from: &mut Section<'_>) -> Option<Self> {
        let current = from
            .restart("SecretKey")
            .required::<SigningKey>("set JWT_SECRET_KEY to at least 32 random characters");
        let previous = from.restart("PreviousSecretKey").optional::<SigningKey>();

        let names = TokenNames {
            issuer: from.restart("Issuer").or("pia-server".to_owned()),
            audience: from.restart("Audience").or("pia-client".to_owned()),
        };

        let default = SessionSettings::default();
        let sessions = SessionSettings {
            access_lifetime: from
                .reload("AccessTokenLifetime")
                .within(default.access_lifetime, SECOND..=DAY),
            refresh_lifetime: from
                .reload("RefreshTokenLifetime")
                .within(default.refresh_lifetime, SECOND..=DAY * 400),
            grace: from
                .reload("RefreshGrace")
                .within(default.grace, Duration::ZERO..=Duration::from_mins(5)),
            max_sessions: from.reload("MaxSessions").within(default.max_sessions, 1..=100),
        };

        if sessions.refresh_lifetime < sessions.access_lifetime {
            let reason = "expected no less than Jwt:AccessTokenLifetime";
            from.refuse("RefreshTokenLifetime", Reason::combination(reason));
        }

        if let (Some(current), Some(previous)) = (&current, &previous)
            && current.0.ct_eq(previous.0.expose())
        {
            from.warn("PreviousSecretKey", "is the same as Jwt:SecretKey and has no effect");
        }

        let keys = SigningKeys { current: current?.0, previous: previous.map(|it| it.0) };

        Some(Self { keys, names, sessions })
    }
}

struct SigningKey(Secret<String>);

impl Setting for SigningKey {
    const IS_SECRET: bool = true;

    fn parse(text: &str) -> Result<Self, Reason> {
        let key = Secret::<String>::parse(text)?;
        if text.chars().count() < MIN_SECRET_CHARS {
            return Err(Reason::weak("expected at least 32 characters"));
        }
        if known_secrets::is_known(text) {
            return Err(Reason::weak(
                "is known from examples or easily guessed; expected random characters",
            ));
        }
        Ok(Self(key))
    }

    fn format(&self) -> String {
        self.0.expose().clone()
    }
}
