//! A one-time code as it is shown, however oddly.

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
    /// One, where all is well.
    pub(super) codes: Vec<Secret<String>>,
    /// Verifier of the challenge; nothing where anything is wrong.
    pub(super) verifier: Option<Secret<String>>,
}

impl PresentedCode {
    /// Reads as far as can be read. Only a body of which no code can, and that
    /// is no JSON, is refused as that.
    pub(super) fn parse(body: &[u8]) -> Result<Self, ApiError> {
        let mut reading = CodeVisitor::default();
        let mut json = serde_json::Deserializer::from_slice(body);
        let read = (&mut reading).deserialize(&mut json).and_then(|()| json.end());
        match read {
            Ok(()) => {}
            Err(fault) if reading.presented.codes.is_empty() && !fault.is_data() => {
                return Err(malformed_json_error(&fault));
            }
            Err(_) => reading.is_invalid = true,
        }
        let CodeVisitor { presented, is_invalid: is_odd } = reading;
        Ok(if is_odd { Self { verifier: None, ..presented } } else { presented })
    }
}

#[derive(Default)]
struct CodeVisitor {
    presented: PresentedCode,
    /// True if anything is invalid.
    is_invalid: bool,
}

impl CodeVisitor {
    fn code(&mut self, input: Value) {
        match input {
            Value::String(code) if self.presented.codes.len() < MAX_CODES => {
                self.presented.codes.push(Secret::new(code));
            }
            Value::Null => {}
            _ => self.is_invalid = true,
        }
    }

    fn verifier(&mut self, input: Value) {
        match input {
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
    fn what_is_in_order_is_one_code_and_its_verifier() {
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
    fn a_code_is_read_of_whatever_holds_one() {
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
    fn of_many_codes_a_few_are_read() {
        let codes = |count: usize| format!("{{{}}}", vec![r#""code":"c""#; count].join(","));

        assert_eq!(parse(&codes(3)).0.len(), 3);
        assert_eq!(parse(&codes(10_000)).0.len(), MAX_CODES);
    }

    #[test]
    fn where_no_code_is_nothing_is_good_and_no_json_is_reported_as_such() {
        for body in ["{}", r#"{"code":5}"#, "[]", "7", "null", r#""code""#] {
            assert_eq!(parse(body), (Vec::new(), None), "{body}");
        }
        for body in ["", "{", "code=c&codeVerifier=v", r#"{"codeVerifier":"v","code":"#] {
            let refused = PresentedCode::parse(body.as_bytes()).err().unwrap().to_string();

            assert!(refused.starts_with("malformed_json"), "{body}: {refused}");
        }
    }
}
