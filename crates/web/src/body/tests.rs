//! Tests of the parsing of bodies.

use serde::Deserialize;

use super::*;

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "only its parsing is looked at")]
struct Outer {
    inner: Vec<Inner>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "only its parsing is looked at")]
struct Inner {
    age: u8,
}

#[derive(Debug, Deserialize)]
struct Listed {
    #[serde(default, deserialize_with = "null_as_default")]
    names: Vec<String>,
}

#[test]
fn null_is_an_absent_key() {
    for body in ["{}", r#"{"names":null}"#] {
        assert!(parse::<Listed>(body.as_bytes()).unwrap().names.is_empty(), "{body}");
    }

    let names = parse::<Listed>(br#"{"names":["a"]}"#).unwrap().names;
    assert_eq!(names, ["a"]);
    assert!(parse::<Listed>(br#"{"names":5}"#).is_err());
}

#[test]
fn a_value_of_the_wrong_type_is_reported_with_its_path() {
    let error = parse::<Outer>(br#"{"inner":[{"age":1},{"age":"two"}]}"#).unwrap_err();

    let message = error.to_string();
    assert!(message.starts_with("validation_failed: `inner[1].age`: invalid type"), "{message}");
    assert!(!message.contains(" at line "), "{message}");
}

#[test]
fn an_invalid_value_is_not_repeated() {
    for value in [
        r#""sesame""#.to_owned(),
        r#""a, expected sesame""#.to_owned(),
        r#""\"`sesame`\"""#.to_owned(),
        format!(r#""{}""#, "sesame".repeat(100_000)),
        "777".to_owned(),
        r#"["sesame"]"#.to_owned(),
    ] {
        let body = format!(r#"{{"age":{value}}}"#);

        let message = parse::<Inner>(body.as_bytes()).unwrap_err().to_string();

        assert!(message.starts_with("validation_failed: `age`: invalid "), "{message:.99}");
        assert!(message.ends_with(", expected u8") && message.len() < 100, "{message:.99}");
        assert!(!message.contains("sesame") && !message.contains("777"), "{message:.99}");
    }
}

#[test]
fn an_invalid_parsed_value_is_not_repeated() {
    let value = serde_json::json!({ "age": "sesame, expected at line 5" });

    let message = format_json_error(&serde_json::from_value::<Inner>(value).unwrap_err());

    assert_eq!(message, "invalid type: string, expected u8");
}

#[test]
fn an_array_is_rejected() {
    let error = parse::<Inner>(b" [7]").unwrap_err();

    assert!(error.to_string().starts_with("validation_failed"), "{error}");
}

#[test]
fn invalid_json_is_malformed() {
    for body in ["", "{", "nonsense", "{\"inner\":[]} {}", "{\"inner\":[}"] {
        let error = parse::<Outer>(body.as_bytes()).unwrap_err();

        assert!(error.to_string().starts_with("malformed_json"), "{body}: {error}");
    }
}

#[test]
fn deeply_nested_json_is_rejected() {
    let nested_json = "[".repeat(100_000);

    let error = parse::<serde_json::Value>(nested_json.as_bytes()).unwrap_err();

    assert!(error.to_string().starts_with("malformed_json"), "{error}");
}

#[test]
fn values_are_counted_outside_of_strings() {
    for (json, count) in
        [("5", 0), ("[1,2,[3]]", 4), (r#"{"a":"x,y[{:","b":"\",[\\"}"#, 4), (r#"["\\",1]"#, 2)]
    {
        assert_eq!(count_separators(json.as_bytes()), count, "{json}");
    }
    let body = RawBody(Bytes::from_static(b"[0,0,0]"));
    assert!(body.expect_values(3).is_ok() && body.expect_values(2).is_err());
}
