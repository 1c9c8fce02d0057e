//! Validation of the target that a sign-in at a provider returns to.
//!
//! `RedirectTarget::parse` decides at the start of a sign-in; a target that
//! it rejects never receives anything. `ReturnState` builds the URL of the
//! target at the end, with a code or an error.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::providers::code_challenge::CodeChallenge;

/// Maximum length of a target, in bytes.
const MAX_URL_BYTES: usize = 2048;
/// Accepted spellings of the browser's own host.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
/// Pages of this server that a sign-in may lead to.
const PAGES: [&str; 2] = ["/admin", "/account"];
/// Supported `code_challenge_method`: SHA-256, and no other.
const METHOD: &str = "S256";

/// Final redirect target of a sign-in at a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RedirectTarget {
    /// Program that listens on the browser's host.
    Program {
        /// URL as spelled in the request.
        url: String,
        /// Challenge that only that program can answer.
        challenge: CodeChallenge,
    },
    /// Page of this server.
    Page {
        /// Path, relative to the server's public URL.
        path: String,
    },
    /// No redirect: the browser itself receives the tokens.
    Browser,
}

/// Errors of the redirect target and its challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DestinationError {
    /// Target is neither a loopback address nor a page of this server.
    #[error("the redirect URI is neither a loopback address nor a page of this server")]
    Target,
    /// Challenge of a program is missing.
    #[error("a loopback redirect URI requires a code challenge")]
    ChallengeRequired,
    /// Challenge is malformed or of an unknown method.
    #[error("the challenge is malformed")]
    ChallengeInvalid,
    /// Challenge was sent without a loopback target.
    #[error("only a loopback redirect URI has a code challenge")]
    ChallengeUnexpected,
}

impl RedirectTarget {
    /// Returns whether a target is a page of this server that a sign-in may
    /// lead to.
    pub fn is_page(target: &str) -> bool {
        is_page(target)
    }

    /// Parses these parameters: checks first whether a challenge is permitted for the target, then
    /// the target itself.
    pub(crate) fn parse(
        target: Option<&str>,
        challenge: Option<&str>,
        method: Option<&str>,
    ) -> Result<Self, DestinationError> {
        match target {
            Some(target) if is_loopback(target) => {
                let encoded = challenge.ok_or(DestinationError::ChallengeRequired)?;
                if method.is_some_and(|it| it != METHOD) {
                    return Err(DestinationError::ChallengeInvalid);
                }
                let challenge =
                    CodeChallenge::parse(encoded).ok_or(DestinationError::ChallengeInvalid)?;
                Ok(Self::Program { url: target.to_owned(), challenge })
            }
            _ if challenge.is_some() => Err(DestinationError::ChallengeUnexpected),
            Some(target) if is_page(target) => Ok(Self::Page { path: target.to_owned() }),
            Some(_) => Err(DestinationError::Target),
            None => Ok(Self::Browser),
        }
    }
}

/// Returns whether a target is of the form `http://localhost:1234/path`. Checked strictly without a
/// URL parser, since browsers and parsers differ on odd URLs.
fn is_loopback(target: &str) -> bool {
    if target.len() > MAX_URL_BYTES {
        return false;
    }
    let Some(without_scheme) = target.strip_prefix("http://") else { return false };

    let (authority, path) = match without_scheme.find('/') {
        Some(at) => without_scheme.split_at(at),
        None => (without_scheme, ""),
    };
    let Some(after_host) = LOOPBACK.iter().find_map(|host| authority.strip_prefix(host)) else {
        return false;
    };

    let has_valid_port = after_host.is_empty() || after_host.strip_prefix(':').is_some_and(is_port);
    let is_path_char = |it: u8| it.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@%".contains(&it);

    has_valid_port && path.bytes().all(is_path_char)
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|it| it.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|it| it > 0)
}

fn is_page(target: &str) -> bool {
    let is_unreserved = |it: char| it.is_ascii_alphanumeric() || "-_.~".contains(it);
    let is_segment = |it: &str| !matches!(it, "" | "." | "..") && it.chars().all(is_unreserved);
    let contains_target = |page: &&str| {
        target
            .strip_prefix(*page)
            .is_some_and(|suffix| suffix.is_empty() || suffix.starts_with('/'))
    };
    target.len() <= MAX_URL_BYTES
        && PAGES.iter().any(contains_target)
        && target.strip_prefix('/').is_some_and(|it| it.split('/').all(is_segment))
}

/// Target and state with which a sign-in returns to its program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnState {
    /// URL without a query.
    target: String,
    /// State to return to the program unchanged; `None` if the program sent none.
    state: Option<String>,
}

impl ReturnState {
    pub(crate) fn new(target: String, state: Option<String>) -> Self {
        Self { target, state }
    }

    /// Returns the URL for the browser with these parameters and the unchanged state.
    pub fn with(&self, params: &[(&str, &str)]) -> String {
        let state = self.state.as_deref().map(|it| ("state", it));
        let mut url = self.target.clone();
        for (index, (name, value)) in params.iter().copied().chain(state).enumerate() {
            url.push(if index == 0 { '?' } else { '&' });
            url.push_str(name);
            url.push('=');
            encode(value, &mut url);
        }
        url
    }
}

fn encode(value: &str, url: &mut String) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            url.push(byte.into());
        } else {
            // Writing to a `String` cannot fail.
            let _written = write!(url, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    /// Texts that are not valid targets.
    const NOT_TARGETS: &[&str] = &[
        "",
        " ",
        "https://localhost:1/",
        "HTTP://localhost:1/",
        "http://LOCALHOST:1/",
        "http:localhost:1/",
        "http:/localhost:1/",
        "http:///localhost:1/",
        "http://localhost.evil.example/",
        "http://localhostevil.example/",
        "http://localhost@evil.example/",
        "http://localhost:1@evil.example/",
        "http://user@localhost:1/",
        "http://user:password@localhost:1/",
        "http://evil.example/localhost",
        "http://localhost:1/#fragment",
        "http://localhost:1/?query=1",
        "http://localhost?query",
        "http://localhost#@evil.example/",
        "http://localhost\\@evil.example/",
        "http://localhost:1/\\evil",
        "http://localhost:0/",
        "http://localhost:65536/",
        "http://localhost:/",
        "http://localhost:+1/",
        "http://localhost:1 /",
        "http://localhost:1/\r\nSet-Cookie: a=b",
        "http://localhost:1/\t",
        "http://localhost:1/ä",
        "http://127.0.0.2:1/",
        "http://127.1:1/",
        "http://2130706433:1/",
        "http://0.0.0.0:1/",
        "http://[::ffff:127.0.0.1]:1/",
        "http://[0:0:0:0:0:0:0:1]:1/",
        "http://::1:1/",
        "http://[::1]evil/",
        "ftp://localhost:1/",
        "javascript:alert(1)",
        "pia://callback",
        "/",
        "//admin",
        "//evil.example/admin",
        "/\\evil.example/admin",
        "/adminx",
        "/accounts",
        "/Admin",
        "/admin/",
        "/admin//users",
        "/admin/../auth",
        "/admin/./users",
        "/admin/%2e%2e/auth",
        "/admin?next=//evil.example",
        "/admin#x",
        "/admin\\evil",
        "/auth/login",
        "/api/sync/pull",
        "admin",
        "./admin",
    ];

    fn target(target: &str) -> Result<RedirectTarget, DestinationError> {
        RedirectTarget::parse(Some(target), None, None)
    }

    #[test]
    fn loopback_targets_may_have_any_port_and_path() {
        for url in [
            "http://localhost:49152/",
            "http://localhost",
            "http://localhost/",
            "http://localhost:1/callback/deep;x=1",
            "http://127.0.0.1:65535/%20",
            "http://[::1]:8080/a@b",
            "http://[::1]",
        ] {
            let destination = RedirectTarget::parse(Some(url), Some(CHALLENGE), Some("S256"));

            let Ok(RedirectTarget::Program { url: parsed_url, .. }) = destination else {
                panic!("{url}: {destination:?}")
            };
            assert_eq!(parsed_url, url);
            assert_eq!(target(url), Err(DestinationError::ChallengeRequired), "{url}");
        }
    }

    #[test]
    fn pages_of_this_server_are_targets_by_path() {
        for path in ["/admin", "/account", "/admin/users", "/account/a-b_c.d~e/f"] {
            assert_eq!(target(path), Ok(RedirectTarget::Page { path: path.to_owned() }));
            let challenged = RedirectTarget::parse(Some(path), Some(CHALLENGE), None);
            assert_eq!(challenged, Err(DestinationError::ChallengeUnexpected), "{path}");
        }
    }

    #[test]
    fn other_targets_are_refused() {
        let long_path = "a".repeat(MAX_URL_BYTES);
        let too_long = [format!("http://localhost:1/{long_path}"), format!("/admin/{long_path}")];
        for bad in NOT_TARGETS.iter().copied().chain(too_long.iter().map(String::as_str)) {
            assert_eq!(target(bad), Err(DestinationError::Target), "{bad:.80}");
            // A challenge does not make a target valid.
            for challenge in [CHALLENGE, "short", ""] {
                let challenged = RedirectTarget::parse(Some(bad), Some(challenge), None);
                let unexpected = Err(DestinationError::ChallengeUnexpected);
                assert_eq!(challenged, unexpected, "{bad:.80} {challenge}");
            }
        }
    }

    #[test]
    fn only_one_challenge_method_is_supported() {
        let of = |challenge: &str, method| {
            RedirectTarget::parse(Some("http://localhost:1/"), Some(challenge), method)
        };

        assert!(of(CHALLENGE, None).is_ok());
        assert!(of(CHALLENGE, Some("S256")).is_ok());
        for (challenge, method) in [
            (CHALLENGE, Some("plain")),
            (CHALLENGE, Some("s256")),
            (CHALLENGE, Some("")),
            ("", None),
            ("too-short", Some("S256")),
        ] {
            let outcome = of(challenge, method);
            assert_eq!(outcome, Err(DestinationError::ChallengeInvalid), "{challenge} {method:?}");
        }
    }

    #[test]
    fn without_a_target_the_browser_is_the_target_and_has_no_challenge() {
        assert_eq!(RedirectTarget::parse(None, None, None), Ok(RedirectTarget::Browser));
        let challenged = RedirectTarget::parse(None, Some(CHALLENGE), None);
        assert_eq!(challenged, Err(DestinationError::ChallengeUnexpected));
    }

    #[test]
    fn the_state_is_returned_unchanged_and_encoded() {
        let odd = "a&b=c?d#e+f%20g\r\nh ü\u{0}/\"<>";
        let back = ReturnState::new("http://localhost:1/".to_owned(), Some(odd.to_owned()));

        let url = back.with(&[("code", "c-1")]);

        assert_eq!(
            url,
            "http://localhost:1/?code=c-1&state=a%26b%3Dc%3Fd%23e%2Bf%2520g%0D%0Ah%20%C3%BC%00\
             %2F%22%3C%3E"
        );
    }

    #[test]
    fn without_a_state_none_is_returned() {
        let back = ReturnState::new("https://pia.example/admin".to_owned(), None);

        assert_eq!(back.with(&[("error", "x y")]), "https://pia.example/admin?error=x%20y");
    }
}
