//! Tests of access tokens: their validity, and forged ones.

use pia_testkit::FixedClock;

use super::*;

const KEY: &str = "an example of thirty-two letters";
const OTHER_KEY: &str = "another example of so many signs";

/// Default lifetime of a token.
const LIFETIME_SECS: i64 = 15 * 60;

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
    tokens(&keys(KEY, None), names("pia-server", "pia-client"), now)
}

/// Returns the time when the tokens of the tests are issued.
fn start() -> Timestamp {
    Timestamp::from_micros(1_800_000_000_000_000)
}

fn issue_token() -> (SessionRef, Secret<String>) {
    let user = UserId::generate();
    let session = SessionId::generate();
    (SessionRef { user, session }, tokens_at(start()).issue(user, session).unwrap().token)
}

/// Returns a token with arbitrary claims and a valid signature.
fn signed(header: &Header, claims: &impl Serialize) -> String {
    jsonwebtoken::encode(header, claims, &EncodingKey::from_secret(KEY.as_bytes())).unwrap()
}

fn header_with_kid(kid: Option<String>) -> Header {
    let mut header = Header::new(Algorithm::HS256);
    header.kid = kid;
    header
}

fn valid_header() -> Header {
    header_with_kid(Some(kid(&Secret::new(KEY.to_owned()))))
}

fn valid_claims(session_ref: SessionRef) -> Claims<'static> {
    Claims {
        sub: session_ref.user,
        sid: session_ref.session,
        iss: "pia-server",
        aud: "pia-client",
        iat: seconds(start()),
        exp: seconds(start()) + LIFETIME_SECS,
    }
}

/// Claims that the server never signs: several issuers or none, or no expiry time.
#[derive(Clone, Serialize)]
struct ForgedClaims {
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
    let (session_ref, token) = issue_token();

    assert_eq!(tokens_at(start()).verify(token.expose()), Some(session_ref));
}

#[test]
fn a_token_is_valid_until_its_lifetime_has_passed() {
    let (session_ref, token) = issue_token();

    let verify_after =
        |seconds| tokens_at(start() + Duration::from_secs(seconds)).verify(token.expose());

    assert_eq!(verify_after(15 * 60 - 1), Some(session_ref));
    assert_eq!(verify_after(15 * 60), None);
}

#[test]
fn the_lifetime_is_returned_and_may_change_at_run_time() {
    let settings = LiveSetting::new(SessionSettings::default());
    let clock = Arc::new(FixedClock(start()));
    let names = names("pia-server", "pia-client");
    let tokens = AccessTokens::new(&keys(KEY, None), names, settings.clone(), clock);
    let lifetime = || tokens.issue(UserId::generate(), SessionId::generate()).unwrap().expires_in;

    assert_eq!(lifetime(), Duration::from_mins(15));

    let access_lifetime = Duration::from_mins(5);
    settings.set(SessionSettings { access_lifetime, ..SessionSettings::default() });

    assert_eq!(lifetime(), access_lifetime);
}

#[test]
fn a_token_from_the_future_is_refused_beyond_the_clock_skew() {
    let (session_ref, token) = issue_token();

    let verify_before =
        |seconds| tokens_at(start() - Duration::from_secs(seconds)).verify(token.expose());

    assert_eq!(verify_before(60), Some(session_ref));
    assert_eq!(verify_before(61), None);
}

#[test]
fn a_token_of_the_previous_key_is_accepted_only_while_that_key_is_configured() {
    let (session_ref, token) = issue_token();
    let verify = |keys: SigningKeys| {
        tokens(&keys, names("pia-server", "pia-client"), start()).verify(token.expose())
    };

    assert_eq!(verify(keys(OTHER_KEY, Some(KEY))), Some(session_ref));
    assert_eq!(verify(keys(OTHER_KEY, None)), None);
}

#[test]
fn a_token_of_another_issuer_or_for_another_audience_is_refused() {
    let (_, token) = issue_token();

    for other_names in [names("pia-servers", "pia-client"), names("pia-server", "pia")] {
        let other_tokens = tokens(&keys(KEY, None), other_names, start());

        assert_eq!(other_tokens.verify(token.expose()), None);
    }
}

#[test]
fn a_token_without_a_known_key_id_is_refused() {
    let (session_ref, _) = issue_token();
    let claims = valid_claims(session_ref);
    let verify = |header: &Header| tokens_at(start()).verify(&signed(header, &claims));

    assert_eq!(verify(&valid_header()), Some(session_ref));
    assert_eq!(verify(&header_with_kid(None)), None);
    assert_eq!(verify(&header_with_kid(Some("another".to_owned()))), None);
}

#[test]
fn a_token_of_another_algorithm_is_refused_though_the_key_is_right() {
    let (session_ref, _) = issue_token();
    let claims = valid_claims(session_ref);

    for algorithm in [Algorithm::HS384, Algorithm::HS512] {
        let header = Header { alg: algorithm, ..valid_header() };
        assert_eq!(tokens_at(start()).verify(&signed(&header, &claims)), None, "{algorithm:?}");
    }
}

#[test]
fn a_token_without_algorithm_and_signature_is_refused() {
    let (_, token) = issue_token();
    let claims = token.expose().split('.').nth(1).unwrap();
    let key_id = kid(&Secret::new(KEY.to_owned()));
    let header =
        URL_SAFE_NO_PAD.encode(format!(r#"{{"typ":"JWT","alg":"none","kid":"{key_id}"}}"#));

    assert_eq!(tokens_at(start()).verify(&format!("{header}.{claims}.")), None);
}

#[test]
fn a_token_must_have_every_claim_exactly_once() {
    let now = seconds(start());
    let without_issuer = ForgedClaims {
        sub: UserId::generate(),
        sid: SessionId::generate(),
        iss: vec![],
        aud: "pia-client",
        iat: now,
        exp: Some(now + LIFETIME_SECS),
    };
    let with_two_issuers =
        ForgedClaims { iss: vec!["pia-server", "another"], ..without_issuer.clone() };
    let without_expiry = ForgedClaims { exp: None, ..without_issuer.clone() };

    for claims in [without_issuer, with_two_issuers, without_expiry] {
        assert_eq!(tokens_at(start()).verify(&signed(&valid_header(), &claims)), None);
    }
}

#[test]
fn malformed_tokens_are_refused() {
    let (_, token) = issue_token();
    let mut changed_token = token.expose().clone();
    changed_token.pop();
    let long_token = format!("{}{}", token.expose(), "A".repeat(100_000));

    for text in ["", ".", "..", "...", "a.b.c", "\u{fffd}.\u{0}.", &changed_token, &long_token] {
        assert_eq!(tokens_at(start()).verify(text), None, "{text:.40}");
    }
}

#[test]
fn the_id_of_a_key_is_short_and_unique() {
    let kid_of = |key: &str| kid(&Secret::new(key.to_owned()));

    assert_eq!(kid_of(KEY).len(), 11);
    assert_ne!(kid_of(KEY), kid_of(OTHER_KEY));
}
