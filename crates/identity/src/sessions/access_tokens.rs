//! Access tokens: signed and short-lived; they prove the caller's identity only.

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

        let verification_key = |key: &Secret<String>| VerificationKey {
            kid: kid(key),
            key: DecodingKey::from_secret(key.expose().as_bytes()),
        };
        let verification_keys = keys.each().map(verification_key).collect();

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
    let short: Vec<u8> = tag.as_ref().iter().copied().take(8).collect();
    URL_SAFE_NO_PAD.encode(short)
}

fn seconds(at: Timestamp) -> i64 {
    at.micros().div_euclid(1_000_000)
}

#[cfg(test)]
mod tests {
    use pia_testkit::FixedClock;

    use super::*;

    const FIRST: &str = "an example of thirty-two letters";
    const SECOND: &str = "another example of so many signs";

    fn keys(current: &str, previous: Option<&str>) -> SigningKeys {
        let secret = |text: &str| Secret::new(text.to_owned());
        SigningKeys { current: secret(current), previous: previous.map(secret) }
    }

    fn names(issuer: &str, audience: &str) -> TokenNames {
        TokenNames { issuer: issuer.to_owned(), audience: audience.to_owned() }
    }

    fn tokens(keys: &SigningKeys, names: TokenNames, now: Timestamp) -> AccessTokens {
        AccessTokens::new(
            keys,
            names,
            LiveSetting::new(SessionSettings::default()),
            Arc::new(FixedClock(now)),
        )
    }

    fn tokens_at(now: Timestamp) -> AccessTokens {
        tokens(&keys(FIRST, None), names("pia-server", "pia-client"), now)
    }

    fn start() -> Timestamp {
        Timestamp::from_micros(1_800_000_000_000_000)
    }

    fn issued() -> (SessionRef, Secret<String>) {
        let user = UserId::generate();
        let session = SessionId::generate();
        (SessionRef { user, session }, tokens_at(start()).issue(user, session).unwrap().token)
    }

    /// Returns a token with arbitrary claims and a valid signature.
    fn signed(header: &Header, claims: &impl Serialize) -> String {
        jsonwebtoken::encode(header, claims, &EncodingKey::from_secret(FIRST.as_bytes())).unwrap()
    }

    fn our_header() -> Header {
        let mut header = Header::new(Algorithm::HS256);
        header.kid = Some(kid(&Secret::new(FIRST.to_owned())));
        header
    }

    #[derive(Clone, Serialize)]
    struct Forged {
        sub: UserId,
        sid: SessionId,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        iss: Vec<&'static str>,
        aud: &'static str,
        iat: i64,
        #[serde(skip_serializing_if = "Option::is_none")]
        exp: Option<i64>,
    }

    #[test]
    fn a_token_identifies_the_caller_and_the_session() {
        let (session_ref, token) = issued();

        assert_eq!(tokens_at(start()).verify(token.expose()), Some(session_ref));
    }

    #[test]
    fn a_token_is_valid_until_its_lifetime_has_passed() {
        let (session_ref, token) = issued();

        let after =
            |seconds| tokens_at(start() + Duration::from_secs(seconds)).verify(token.expose());

        assert_eq!(after(899), Some(session_ref));
        assert_eq!(after(900), None);
    }

    #[test]
    fn the_lifetime_is_returned_and_may_change_at_run_time() {
        let settings = LiveSetting::new(SessionSettings::default());
        let clock = Arc::new(FixedClock(start()));
        let names = names("pia-server", "pia-client");
        let tokens = AccessTokens::new(&keys(FIRST, None), names, settings.clone(), clock);
        let lifetime =
            || tokens.issue(UserId::generate(), SessionId::generate()).unwrap().expires_in;

        let before = lifetime();
        let access_lifetime = Duration::from_mins(5);
        settings.set(SessionSettings { access_lifetime, ..SessionSettings::default() });

        assert_eq!(before.as_secs(), 900);
        assert_eq!(lifetime().as_secs(), 300);
    }

    #[test]
    fn a_token_from_the_future_is_refused_beyond_the_clock_skew() {
        let (session_ref, token) = issued();

        let before =
            |seconds| tokens_at(start() - Duration::from_secs(seconds)).verify(token.expose());

        assert_eq!(before(60), Some(session_ref));
        assert_eq!(before(61), None);
    }

    #[test]
    fn a_token_of_the_previous_key_is_accepted_only_while_that_key_is_configured() {
        let (session_ref, token) = issued();
        let verify = |keys: SigningKeys| {
            tokens(&keys, names("pia-server", "pia-client"), start()).verify(token.expose())
        };

        assert_eq!(verify(keys(SECOND, Some(FIRST))), Some(session_ref));
        assert_eq!(verify(keys(SECOND, None)), None);
    }

    #[test]
    fn a_token_of_another_issuer_or_for_another_audience_is_refused() {
        let (_, token) = issued();

        for other_names in [names("pia-servers", "pia-client"), names("pia-server", "pia")] {
            let other_tokens = tokens(&keys(FIRST, None), other_names, start());

            assert_eq!(other_tokens.verify(token.expose()), None);
        }
    }

    #[test]
    fn a_token_without_a_known_key_id_is_refused() {
        let (session_ref, _) = issued();
        let claims = Claims {
            sub: session_ref.user,
            sid: session_ref.session,
            iss: "pia-server",
            aud: "pia-client",
            iat: seconds(start()),
            exp: seconds(start()) + 900,
        };
        let mut nameless = our_header();
        nameless.kid = None;
        let mut stranger = our_header();
        stranger.kid = Some("another".to_owned());

        let verify = |header: &Header| tokens_at(start()).verify(&signed(header, &claims));

        assert_eq!(verify(&our_header()), Some(session_ref));
        assert_eq!(verify(&nameless), None);
        assert_eq!(verify(&stranger), None);
    }

    #[test]
    fn a_token_of_another_algorithm_is_refused_though_the_key_is_right() {
        let (session_ref, _) = issued();
        let claims = Claims {
            sub: session_ref.user,
            sid: session_ref.session,
            iss: "pia-server",
            aud: "pia-client",
            iat: seconds(start()),
            exp: seconds(start()) + 900,
        };
        for algorithm in [Algorithm::HS384, Algorithm::HS512] {
            let header = Header { alg: algorithm, ..our_header() };

            assert_eq!(tokens_at(start()).verify(&signed(&header, &claims)), None);
        }
    }

    #[test]
    fn a_token_without_algorithm_and_signature_is_refused() {
        let (_, token) = issued();
        let claims = token.expose().split('.').nth(1).unwrap();
        let kid = kid(&Secret::new(FIRST.to_owned()));
        let none = URL_SAFE_NO_PAD.encode(format!(r#"{{"typ":"JWT","alg":"none","kid":"{kid}"}}"#));

        assert_eq!(tokens_at(start()).verify(&format!("{none}.{claims}.")), None);
    }

    #[test]
    fn a_token_must_have_every_claim_exactly_once() {
        let (session_ref, _) = issued();
        let now = seconds(start());
        let sub = session_ref.user;
        let sid = session_ref.session;
        let forged =
            Forged { sub, sid, iss: vec![], aud: "pia-client", iat: now, exp: Some(now + 900) };
        let several = Forged { iss: vec!["pia-server", "another"], ..forged.clone() };
        let endless = Forged { exp: None, ..forged.clone() };

        for wrong in [forged, several, endless] {
            assert_eq!(tokens_at(start()).verify(&signed(&our_header(), &wrong)), None);
        }
    }

    #[test]
    fn malformed_tokens_are_refused() {
        let (_, token) = issued();
        let mut changed_token = token.expose().clone();
        changed_token.pop();
        let endless = format!("{}{}", token.expose(), "A".repeat(100_000));

        for text in ["", ".", "..", "...", "a.b.c", "\u{fffd}.\u{0}.", &changed_token, &endless] {
            assert_eq!(tokens_at(start()).verify(text), None, "{text:.40}");
        }
    }

    #[test]
    fn the_id_of_a_key_is_short_and_unique() {
        let name = |key: &str| kid(&Secret::new(key.to_owned()));

        assert_eq!(name(FIRST).len(), 11);
        assert_ne!(name(FIRST), name(SECOND));
    }
}
