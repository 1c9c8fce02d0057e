//! Tests of invocations in both directions.

use super::*;

#[test]
fn an_invocation_is_completed_once() {
    for (result, completion) in [
        (Ok(Some(json!(5))), r#"{"type":3,"invocationId":"1","result":5}"#),
        (Ok(None), r#"{"type":3,"invocationId":"1"}"#),
        (Err("no".to_owned()), r#"{"type":3,"invocationId":"1","error":"no"}"#),
    ] {
        let mut fixture = Fixture::open(ConnectionSettings::default());
        let invoked = HubEvent::Invoked(ClientInvocation {
            reply: ExpectedReply::Completion("1".to_owned()),
            target: "m".to_owned(),
            arguments: vec![json!("1")],
            stream_ids: Vec::new(),
        });
        assert_eq!(fixture.receive(&call("1")), [invoked]);

        assert_eq!(fixture.connection.complete("1", result), Ok(()));

        assert_eq!(fixture.sent(), [completion]);
        let again = fixture.connection.complete("1", Ok(None));
        assert_eq!(again, Err(SendError::InvocationEnded));
        let item = fixture.connection.send_item("1", json!(1));
        assert_eq!(item, Err(SendError::InvocationEnded));
    }
}

#[test]
fn a_non_blocking_invocation_is_not_answered() {
    let mut fixture = Fixture::open(ConnectionSettings::default());

    let events = fixture.receive(&json!({"type": 1, "target": "m", "arguments": []}));

    let [HubEvent::Invoked(invoked)] = &events[..] else { panic!("{events:?}") };
    assert_eq!(invoked.reply, ExpectedReply::None);
}

#[test]
fn a_stream_has_items_and_an_end_without_a_value() {
    let mut fixture = Fixture::open(ConnectionSettings::default());
    let events = fixture.receive(&stream("1"));
    let [HubEvent::Invoked(invoked)] = &events[..] else { panic!("{events:?}") };
    assert_eq!(invoked.reply, ExpectedReply::Stream("1".to_owned()));

    fixture.connection.send_item("1", json!("a")).unwrap();
    fixture.connection.complete("1", Ok(Some(json!("b")))).unwrap();

    let expected =
        [r#"{"type":2,"invocationId":"1","item":"a"}"#, r#"{"type":3,"invocationId":"1"}"#];
    assert_eq!(fixture.sent(), expected);
}

#[test]
fn items_belong_to_streams_only() {
    let mut fixture = Fixture::open(ConnectionSettings::default());
    fixture.receive(&call("1"));

    let item = fixture.connection.send_item("1", json!(1));

    assert_eq!(item, Err(SendError::InvocationEnded));
    assert_eq!(fixture.connection.complete("1", Ok(None)), Ok(()));
}

#[test]
fn a_canceled_stream_takes_no_items_but_is_completed() {
    let mut fixture = Fixture::open(ConnectionSettings::default());
    fixture.receive(&stream("1"));
    let cancel = json!({"type": 5, "invocationId": "1"});

    let canceled = HubEvent::Canceled { invocation_id: "1".to_owned() };
    assert_eq!(fixture.receive(&cancel), [canceled]);
    assert_eq!(fixture.receive(&cancel), []);

    let item = fixture.connection.send_item("1", json!(1));
    assert_eq!(item, Err(SendError::InvocationEnded));
    assert_eq!(fixture.connection.complete("1", Ok(None)), Ok(()));
    assert_eq!(fixture.receive(&cancel), []);
    assert_eq!(fixture.sent(), [r#"{"type":3,"invocationId":"1"}"#]);
}

#[test]
fn an_upload_has_items_until_its_end() {
    let mut fixture = Fixture::open(ConnectionSettings::default());
    let item = json!({"type": 2, "invocationId": "u", "item": 1});
    let end = json!({"type": 3, "invocationId": "u", "error": "cut"});
    assert_eq!(fixture.receive(&item), []);
    let mut invocation = call("1");
    invocation["streamIds"] = json!(["u"]);
    fixture.receive(&invocation);

    let stream_id = || "u".to_owned();
    let received = HubEvent::StreamItem { stream_id: stream_id(), item: json!(1) };
    let ended = HubEvent::StreamEnded { stream_id: stream_id(), error: Some("cut".to_owned()) };
    assert_eq!(fixture.receive(&item), [received]);
    assert_eq!(fixture.receive(&end), [ended]);
    assert_eq!(fixture.receive(&item), []);
    assert_eq!(fixture.receive(&end), []);
}

#[test]
fn uploads_end_with_their_invocation() {
    let mut fixture = Fixture::open(ConnectionSettings::default());
    let mut invocation = call("1");
    invocation["streamIds"] = json!(["u"]);
    fixture.receive(&invocation);

    fixture.connection.complete("1", Ok(None)).unwrap();

    assert_eq!(fixture.receive(&json!({"type": 2, "invocationId": "u", "item": 1})), []);
    invocation["invocationId"] = json!("2");
    assert_eq!(fixture.receive(&invocation).len(), 1);
}

#[test]
fn only_pending_invocations_are_returned_and_only_once() {
    let mut fixture = Fixture::open(ConnectionSettings::default());
    let id = fixture.connection.invoke("ask", vec![json!(1)]).unwrap();
    let forgotten = fixture.connection.invoke("ask", vec![]).unwrap();
    fixture.connection.forget(&forgotten);
    let answer = |id: &str| json!({"type": 3, "invocationId": id, "result": 7});

    assert_eq!(fixture.receive(&answer("s999")), []);
    assert_eq!(fixture.receive(&answer(&forgotten)), []);
    let returned = HubEvent::Returned { invocation_id: id.clone(), result: Ok(Some(json!(7))) };
    assert_eq!(fixture.receive(&answer(&id)), [returned]);
    assert_eq!(fixture.receive(&answer(&id)), []);

    assert_eq!(fixture.connection.close_reason(), None);
    let frames = fixture.sent();
    assert_eq!(frames[0], r#"{"type":1,"invocationId":"s1","target":"ask","arguments":[1]}"#);
}

#[test]
fn pending_invocations_are_limited() {
    let settings = ConnectionSettings { max_open: 1, ..ConnectionSettings::default() };
    let mut fixture = Fixture::open(settings);
    let id = fixture.connection.invoke("ask", vec![]).unwrap();

    assert_eq!(fixture.connection.invoke("ask", vec![]), Err(SendError::TooManyPending));

    fixture.connection.forget(&id);
    assert!(fixture.connection.invoke("ask", vec![]).is_ok());
}

#[test]
fn an_invocation_that_was_not_sent_is_not_pending() {
    let mut fixture = Fixture::new(ConnectionSettings { max_open: 1, ..Default::default() });

    assert_eq!(fixture.connection.invoke("ask", vec![]), Err(SendError::NotOpen));
    assert_eq!(fixture.connection.invoke("ask", vec![]), Err(SendError::NotOpen));
}

#[test]
fn a_client_has_a_limited_number_of_open_invocations() {
    let mut fixture = Fixture::open(ConnectionSettings { max_open: 2, ..Default::default() });
    assert_eq!(fixture.receive(&call("1")).len(), 1);
    assert_eq!(fixture.receive(&call("2")).len(), 1);
    fixture.connection.complete("1", Ok(None)).unwrap();
    assert_eq!(fixture.receive(&call("3")).len(), 1);

    assert_eq!(fixture.receive(&call("4")).len(), 0);

    let reason = CloseReason::Protocol(ProtocolError::TooManyInvocations);
    assert_eq!(fixture.connection.close_reason(), Some(&reason));
}
