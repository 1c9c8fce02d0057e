//! One-time codes of a request, even of a malformed one.
//!
//! A code must not survive a failed attempt to redeem it, whatever else is wrong
//! with the body. The parser therefore collects the codes before it judges the
//! rest; `token.rs` then spends all of them.

use std::fmt;

use pia_kernel::Secret;
use pia_web::{ApiError, malformed_json_error};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

/// Maximum number of codes in a request: more at once are guesses.
const MAX_CODES: usize = 4;

/// Parts of a body that identify the code to redeem.
#[derive(Default)]
pub(super) struct PresentedCode {
    /// Codes; exactly one in a valid request.
    pub(super) codes: Vec<Secret<String>>,
    /// Verifier of the challenge; `None` if anything is invalid.
    pub(super) verifier: Option<Secret<String>>,
}

impl PresentedCode {
    /// Parses as much as possible. A body is only refused as malformed if it is
    /// not JSON and contains no code.
    pub(super) fn parse(body: &[u8]) -> Result<Self, ApiError> {
        let mut visitor = CodeVisitor::default();
        let mut json = serde_json::Deserializer::from_slice(body);
        let result = (&mut visitor).deserialize(&mut json).and_then(|()| json.end());
        match result {
            Ok(()) => {}
            Err(err) if visitor.presented.codes.is_empty() && !err.is_data() => {
                return Err(malformed_json_error(&err));
            }
            Err(_) => visitor.is_invalid = true,
        }

        let CodeVisitor { presented, is_invalid } = visitor;

        Ok(if is_invalid { Self { verifier: None, ..presented } } else { presented })
    }
}

#[derive(Default)]
struct CodeVisitor {
    presented: PresentedCode,
    /// True if anything is invalid.
    is_invalid: bool,
}

impl CodeVisitor {
    fn code(&mut self, value: Value) {
        match value {
            Value::String(code) if self.presented.codes.len() < MAX_CODES => {
                self.presented.codes.push(Secret::new(code));
            }
            Value::Null => {}
            _ => self.is_invalid = true,
        }
    }

    fn verifier(&mut self, value: Value) {
        match value {
            Value::String(verifier) if self.presented.verifier.is_none() => {
                self.presented.verifier = Some(Secret::new(verifier));
            }
            Value::Null => {}
            _ => self.is_invalid = true,
        }
    }
}

impl<'de> DeserializeSeed<'de> for &mut CodeVisitor {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut CodeVisitor {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        while let Some(key) = object.next_key::<String>()? {
            match key.as_str() {
                "code" => self.code(object.next_value()?),
                "codeVerifier" => self.verifier(object.next_value()?),
                _ => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(body: &str) -> (Vec<String>, Option<String>) {
        let PresentedCode { codes, verifier } = PresentedCode::parse(body.as_bytes()).unwrap();
        let codes = codes.iter().map(|it| it.expose().clone()).collect();
        (codes, verifier.map(|it| it.expose().clone()))
    }

    #[test]
    fn a_valid_body_has_one_code_and_its_verifier() {
        let presented = (vec!["c".to_owned()], Some("v".to_owned()));

        for body in [
            r#"{"code":"c","codeVerifier":"v"}"#,
            r#" {"other":[{}],"codeVerifier":"v","code":"c","device":null} "#,
            r#"{"code":null,"code":"c","codeVerifier":"v"}"#,
        ] {
            assert_eq!(parse(body), presented, "{body}");
        }
    }

    #[test]
    fn a_code_is_found_in_any_body_that_contains_one() {
        for body in [
            r#"{"code":"c"}"#,
            r#"{"code":"c","codeVerifier":null}"#,
            r#"{"code":"c","codeVerifier":5}"#,
            r#"{"codeVerifier":["v"],"code":"c"}"#,
            r#"{"codeVerifier":{},"code":"c"}"#,
            r#"{"code":"c","codeVerifier":"v","codeVerifier":"v"}"#,
            r#"{"code":"c","code":5,"codeVerifier":"v"}"#,
            r#"{"code":"c","codeVerifier":"v""#,
            r#"{"code":"c","codeVerifier":"v"} {}"#,
            r#"{"code":"c","codeVerifier":"\ud800"}"#,
            r#"{"code":"c","CodeVerifier":"v"}"#,
        ] {
            assert_eq!(parse(body), (vec!["c".to_owned()], None), "{body}");
        }
    }

    #[test]
    fn the_number_of_codes_is_limited() {
        let codes = |count: usize| format!("{{{}}}", vec![r#""code":"c""#; count].join(","));

        assert_eq!(parse(&codes(3)).0.len(), 3);
        assert_eq!(parse(&codes(10_000)).0.len(), MAX_CODES);
    }

    #[test]
    fn a_body_without_a_code_has_no_verifier_and_invalid_json_is_malformed() {
        for body in ["{}", r#"{"code":5}"#, "[]", "7", "null", r#""code""#] {
            assert_eq!(parse(body), (Vec::new(), None), "{body}");
        }
        for body in ["", "{", "code=c&codeVerifier=v", r#"{"codeVerifier":"v","code":"#] {
            let refused = PresentedCode::parse(body.as_bytes()).err().unwrap().to_string();

            assert!(refused.starts_with("malformed_json"), "{body}: {refused}");
        }
    }
}
