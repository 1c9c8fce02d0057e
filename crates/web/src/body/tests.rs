//! Bodies as they come.

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

#[test]
fn a_value_of_the_wrong_type_is_reported_with_its_place() {
    let refused = parse::<Outer>(br#"{"inner":[{"age":1},{"age":"two"}]}"#).unwrap_err();

    let reported = refused.to_string();
    assert!(reported.starts_with("validation_failed: `inner[1].age`: invalid type"), "{reported}");
    assert!(!reported.contains(" at line "), "{reported}");
}

#[test]
fn nothing_of_a_value_is_repeated() {
    for value in [
        r#""sesame""#.to_owned(),
        r#""a, expected sesame""#.to_owned(),
        r#""\"`sesame`\"""#.to_owned(),
        format!(r#""{}""#, "sesame".repeat(100_000)),
        "777".to_owned(),
        r#"["sesame"]"#.to_owned(),
    ] {
        let body = format!(r#"{{"age":{value}}}"#);

        let reported = parse::<Inner>(body.as_bytes()).unwrap_err().to_string();

        assert!(reported.starts_with("validation_failed: `age`: invalid "), "{reported:.99}");
        assert!(reported.ends_with(", expected u8") && reported.len() < 100, "{reported:.99}");
        assert!(!reported.contains("sesame") && !reported.contains("777"), "{reported:.99}");
    }
}

#[test]
fn nothing_of_a_value_that_was_read_before_is_repeated() {
    let value = serde_json::json!({ "age": "sesame, expected at line 5" });

    let reported = format_json_error(&serde_json::from_value::<Inner>(value).unwrap_err());

    assert_eq!(reported, "invalid type: string, expected u8");
}

#[test]
fn an_array_is_no_object() {
    let refused = parse::<Inner>(b" [7]").unwrap_err();

    assert!(refused.to_string().starts_with("validation_failed"), "{refused}");
}

#[test]
fn a_compressed_body_is_taken_in_small_steps() {
    let whole = Bytes::from(vec![7; INFLATE_CHUNK_BYTES * 2 + 1]);

    let steps: Vec<usize> = split_for_inflating(Ok(whole)).map(|it| it.unwrap().len()).collect();

    assert_eq!(steps, [INFLATE_CHUNK_BYTES, INFLATE_CHUNK_BYTES, 1]);
}

#[tokio::test]
async fn the_room_of_a_body_is_returned_with_its_last_slice() {
    let memory = BodyMemory::new(8 * 1024 * 1024);
    let piece = Bytes::from(vec![7; 512 * 1024]);
    let body = stream::iter([Ok(piece)]).boxed_local();
    let size = Size { content_length: 0, limit: usize::MAX };
    let body = collect_body(body, size, Some(memory.new_permit(None))).await.unwrap().into_bytes();

    let slice = body.slice(5..9);
    drop(body);

    assert!(memory.new_permit(None).grow_to(768 * 1024).is_err());
    drop(slice);
    assert!(memory.new_permit(None).grow_to(768 * 1024).is_ok());
}

/// A body of which so many bytes come every ten seconds.
fn trickle(first: usize, then: usize) -> BodyChunks {
    let whole = stream::iter([Ok(Bytes::from(vec![7; first]))]);
    let rest = stream::unfold(0, move |count| async move {
        tokio::time::sleep(Duration::from_secs(10)).await;
        (count < 100).then(|| (Ok(Bytes::from(vec![7; then])), count + 1))
    });
    whole.chain(rest).boxed_local()
}

#[tokio::test(start_paused = true)]
async fn a_body_that_arrives_too_slowly_is_refused() {
    let size = || Size { content_length: 0, limit: usize::MAX };
    let begun = Instant::now();

    for (first, then) in [(0, 1), (8 * 1024 * 1024, 40 * 1024 - 1), (8 * 1024 * 1024, 0)] {
        let refused = collect_body(trickle(first, then), size(), None).await.unwrap_err();

        assert!(refused.to_string().starts_with("body_timeout"), "{refused}");
    }
    assert_eq!(begun.elapsed(), 3 * RATE_WINDOW);
    assert!(collect_body(trickle(1, 40 * 1024), size(), None).await.is_ok());
}

#[test]
fn what_is_no_json_is_malformed() {
    for body in ["", "{", "nonsense", "{\"inner\":[]} {}", "{\"inner\":[}"] {
        let refused = parse::<Outer>(body.as_bytes()).unwrap_err();

        assert!(refused.to_string().starts_with("malformed_json"), "{body}: {refused}");
    }
}

#[test]
fn json_that_is_too_deep_is_refused() {
    let deep = "[".repeat(100_000);

    let refused = parse::<serde_json::Value>(deep.as_bytes()).unwrap_err();

    assert!(refused.to_string().starts_with("malformed_json"), "{refused}");
}

#[test]
fn values_are_counted_outside_of_texts() {
    for (json, count) in
        [("5", 0), ("[1,2,[3]]", 4), (r#"{"a":"x,y[{:","b":"\",[\\"}"#, 4), (r#"["\\",1]"#, 2)]
    {
        assert_eq!(count_separators(json.as_bytes()), count, "{json}");
    }
    let body = RawBody(Bytes::from_static(b"[0,0,0]"));
    assert!(body.expect_values(3).is_ok() && body.expect_values(2).is_err());
}
