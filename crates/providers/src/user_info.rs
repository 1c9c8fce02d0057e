//! User information that a provider returns in addition to its token.

use openidconnect::OAuth2TokenResponse;
use serde::Deserialize;
use serde_json::Value;

use crate::client::{Claims, Tokens};
use crate::discovery::DiscoveredProvider;
use crate::http::Http;

/// Email address and name of a user, each `None` if the provider does not report it.
#[derive(Debug, Default)]
pub(crate) struct UserInfo {
    pub(crate) email: Option<String>,
    pub(crate) email_verified: Option<bool>,
    pub(crate) name: Option<String>,
}

#[derive(Deserialize)]
struct UserInfoResponse {
    sub: String,
    email: Option<String>,
    email_verified: Option<Value>,
    name: Option<String>,
}

/// Returns the user information of the token, or else of the userinfo endpoint: many providers
/// leave email addresses out of their tokens. An address and its verified flag always come from one
/// source.
pub(crate) async fn fetch_user_info(
    http: &Http,
    discovered: &DiscoveredProvider,
    tokens: &Tokens,
    claims: &Claims,
) -> UserInfo {
    let name = claims.name().and_then(|it| it.get(None)).map(|it| it.as_str().to_owned());
    if let Some(email) = claims.email() {
        let email = Some(email.as_str().to_owned());
        return UserInfo { email, email_verified: claims.email_verified(), name };
    }
    let Some(address) = &discovered.metadata.userinfo_endpoint else {
        return UserInfo { name, ..UserInfo::default() };
    };

    // A failure leaves out the email address and does not end the sign-in here.
    match http.get(address, Some(tokens.access_token().secret())).await {
        Ok(body) => user_info_or_name(&body, claims.subject(), name),
        Err(err) => {
            let error = &err as &dyn std::error::Error;
            tracing::warn!(error, "userinfo request failed");
            UserInfo { name, ..UserInfo::default() }
        }
    }
}

/// Returns the userinfo of a response, or only the token's name if that cannot be used.
fn user_info_or_name(body: &[u8], subject: &str, name: Option<String>) -> UserInfo {
    parse_user_info(body, subject).unwrap_or_else(|| UserInfo { name, ..UserInfo::default() })
}

/// Parses userinfo; `None` if it is malformed or of another subject.
fn parse_user_info(body: &[u8], subject: &str) -> Option<UserInfo> {
    let response: UserInfoResponse = serde_json::from_slice(body).ok()?;
    if response.sub != subject {
        return None;
    }
    // Some providers send a string. Any other text than `true` counts as unverified.
    let email_verified = match response.email_verified {
        Some(Value::Bool(it)) => Some(it),
        Some(Value::String(it)) => Some(it == "true"),
        _ => None,
    };
    Some(UserInfo { email: response.email, email_verified, name: response.name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_userinfo_of_another_subject_is_ignored() {
        let body = br#"{"sub":"eve","email":"eve@example.org","email_verified":true}"#;

        assert!(parse_user_info(body, "ada").is_none());
        assert!(parse_user_info(b"<html>", "ada").is_none());
        assert_eq!(parse_user_info(body, "eve").unwrap().email_verified, Some(true));
    }

    #[test]
    fn the_name_of_the_token_remains_if_the_userinfo_cannot_be_used() {
        for body in [&br#"{"sub":"eve","email":"eve@example.org","name":"Eve"}"#[..], b"<html>"] {
            let user_info = user_info_or_name(body, "ada", Some("Ada".to_owned()));

            assert_eq!(user_info.name.as_deref(), Some("Ada"));
            assert_eq!(user_info.email, None);
            assert_eq!(user_info.email_verified, None);
        }
    }

    #[test]
    fn the_verified_flag_may_be_a_string() {
        for (written, expected) in
            [("true", Some(true)), ("\"true\"", Some(true)), ("\"yes\"", Some(false)), ("1", None)]
        {
            let body = format!(r#"{{"sub":"ada","email_verified":{written}}}"#);

            assert_eq!(
                parse_user_info(body.as_bytes(), "ada").unwrap().email_verified,
                expected,
                "{written}"
            );
        }
    }
}
