//! Access tokens: signed and short-lived; they prove the caller's identity only.
//!
//! They are JWTs under HS256 that are stored nowhere. `sub` is the user and
//! `sid` the session; the gates load everything else with `CallerCache`.
//! `consoles.rs` issues cookies by a second `AccessTokens` with another
//! audience.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use pia_kernel::{Clock, LiveSetting, Secret, SessionId, Timestamp, Unavailable, UserId};
use ring::hmac;
use serde::{Deserialize, Serialize};

use crate::sessions::SessionSettings;
use crate::sessions::signing_keys::SigningKeys;

/// Maximum length of a presented token, in bytes.
const MAX_TOKEN_BYTES: usize = 4096;

/// Length of a key id before its encoding, in bytes.
const KID_BYTES: usize = 8;

/// Tolerated clock difference between two instances, in seconds.
const CLOCK_SKEW: i64 = 60;

/// Issuer and audience of access tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenNames {
    /// Issuer; `pia-server` by default.
    pub issuer: String,
    /// Audience; `pia-client` by default.
    pub audience: String,
}

/// Contents of an access token: the caller and their session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionRef {
    /// Account that the session belongs to.
    pub user: UserId,
    /// Session, which may be over by now.
    pub session: SessionId,
}

/// A newly signed token.
#[derive(Debug, Clone)]
pub struct IssuedTokens {
    /// Signed JWT, for the `Authorization` header.
    pub token: Secret<String>,
    /// Time from now until it expires.
    pub expires_in: Duration,
}

/// Issues and verifies access tokens.
#[derive(Clone)]
pub struct AccessTokens {
    inner: Arc<Inner>,
}

struct Inner {
    header: Header,
    signing_key: EncodingKey,
    verification_keys: Vec<VerificationKey>,
    names: TokenNames,
    validation: Validation,
    settings: LiveSetting<SessionSettings>,
    clock: Arc<dyn Clock>,
}

struct VerificationKey {
    /// Key id, which a token's header names.
    kid: String,
    key: DecodingKey,
}

impl VerificationKey {
    fn new(key: &Secret<String>) -> Self {
        Self { kid: kid(key), key: DecodingKey::from_secret(key.expose().as_bytes()) }
    }
}

#[derive(Serialize, Deserialize)]
struct Claims<'a> {
    sub: UserId,
    sid: SessionId,
    iss: &'a str,
    aud: &'a str,
    iat: i64,
    exp: i64,
}

/// Decoded token, strict: `iss` and `aud` cannot be lists.
#[derive(Deserialize)]
struct DecodedClaims {
    sub: UserId,
    sid: SessionId,
    #[serde(rename = "iss")]
    _iss: String,
    #[serde(rename = "aud")]
    _aud: String,
    iat: i64,
    exp: i64,
}

impl AccessTokens {
    /// Creates tokens that are signed with the current key, and accepted under either.
    pub fn new(
        keys: &SigningKeys,
        names: TokenNames,
        settings: LiveSetting<SessionSettings>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let mut header = Header::new(Algorithm::HS256);
        header.kid = Some(kid(&keys.current));
        let signing_key = EncodingKey::from_secret(keys.current.expose().as_bytes());

        let verification_keys = keys.each().map(VerificationKey::new).collect();

        let mut validation = Validation::new(Algorithm::HS256);
        validation.set_issuer(&[&names.issuer]);
        validation.set_audience(&[&names.audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        // The library would use the system time; the clock decides below.
        validation.validate_exp = false;

        Self {
            inner: Arc::new(Inner {
                header,
                signing_key,
                verification_keys,
                names,
                validation,
                settings,
                clock,
            }),
        }
    }

    /// Issues a token for a session of a user.
    pub fn issue(&self, user: UserId, session: SessionId) -> Result<IssuedTokens, Unavailable> {
        self.issue_for(SessionRef { user, session }, self.inner.settings.get().access_lifetime)
    }

    /// Issues a token for a session that is valid for this long.
    pub(crate) fn issue_for(
        &self,
        SessionRef { user, session }: SessionRef,
        lifetime: Duration,
    ) -> Result<IssuedTokens, Unavailable> {
        let Inner { header, signing_key, names, clock, .. } = &*self.inner;
        let lifetime_secs = lifetime.as_secs();
        let iat = seconds(clock.now());
        let exp = iat.saturating_add_unsigned(lifetime_secs);
        let claims =
            Claims { sub: user, sid: session, iss: &names.issuer, aud: &names.audience, iat, exp };
        let token = jsonwebtoken::encode(header, &claims, signing_key)
            .map_err(|err| Unavailable::new("token signing", err))?;

        Ok(IssuedTokens {
            token: Secret::new(token),
            expires_in: Duration::from_secs(lifetime_secs),
        })
    }

    /// Returns the session of this token, if it is valid now.
    ///
    /// A token from the future is rejected too: it was issued on a clock that has been set back
    /// since, so its end is unknown.
    pub fn verify(&self, token: &str) -> Option<SessionRef> {
        if token.len() > MAX_TOKEN_BYTES {
            return None;
        }
        let Inner { verification_keys, validation, clock, .. } = &*self.inner;
        let kid = jsonwebtoken::decode_header(token).ok()?.kid?;
        let VerificationKey { key, .. } = verification_keys.iter().find(|it| it.kid == kid)?;
        let claims = jsonwebtoken::decode::<DecodedClaims>(token, key, validation).ok()?.claims;

        let now = seconds(clock.now());
        let is_valid_now = claims.iat <= now.saturating_add(CLOCK_SKEW) && now < claims.exp;
        is_valid_now.then_some(SessionRef { user: claims.sub, session: claims.sid })
    }
}

/// Returns the id of a key: stable, and not revealing the key.
fn kid(key: &Secret<String>) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key.expose().as_bytes());
    let tag = hmac::sign(&key, b"access-token-key-id");
    let prefix: Vec<u8> = tag.as_ref().iter().copied().take(KID_BYTES).collect();
    URL_SAFE_NO_PAD.encode(prefix)
}

fn seconds(at: Timestamp) -> i64 {
    at.micros().div_euclid(1_000_000)
}

#[cfg(test)]
mod tests;
