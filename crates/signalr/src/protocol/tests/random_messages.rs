//! Tests with random messages and bytes.

use proptest::prelude::*;
use serde_json::Map;

use super::*;

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        // Fractions that decimals express exactly.
        any::<i32>().prop_map(|it| Value::from(f64::from(it) / 4.0)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        let members = prop::collection::vec((any::<String>(), inner.clone()), 0..20);
        prop_oneof![
            prop::collection::vec(inner, 0..20).prop_map(Value::Array),
            members.prop_map(|it| Value::Object(it.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn messages() -> impl Strategy<Value = HubMessage> {
    let arguments = || prop::collection::vec(values(), 0..4);
    let stream_ids = || prop::collection::vec(any::<String>(), 0..3);
    let text = any::<String>;
    prop_oneof![
        (any::<Option<String>>(), text(), arguments(), stream_ids()).prop_map(
            |(invocation_id, target, arguments, stream_ids)| HubMessage::Invocation {
                invocation_id,
                target,
                arguments,
                stream_ids
            }
        ),
        (text(), text(), arguments(), stream_ids()).prop_map(
            |(invocation_id, target, arguments, stream_ids)| HubMessage::StreamInvocation {
                invocation_id,
                target,
                arguments,
                stream_ids
            }
        ),
        (text(), values())
            .prop_map(|(invocation_id, item)| HubMessage::StreamItem { invocation_id, item }),
        (text(), Just(Ok(None)).boxed())
            .prop_map(|(invocation_id, result)| HubMessage::Completion { invocation_id, result }),
        (text(), values().prop_map(|it| Ok(Some(it))).boxed())
            .prop_map(|(invocation_id, result)| HubMessage::Completion { invocation_id, result }),
        (text(), text().prop_map(Err))
            .prop_map(|(invocation_id, result)| HubMessage::Completion { invocation_id, result }),
        text().prop_map(|invocation_id| HubMessage::CancelInvocation { invocation_id }),
        Just(HubMessage::Ping),
        (any::<Option<String>>(), any::<bool>())
            .prop_map(|(error, allow_reconnect)| HubMessage::Close { error, allow_reconnect }),
        any::<u64>().prop_map(|sequence_id| HubMessage::Ack { sequence_id }),
        any::<u64>().prop_map(|sequence_id| HubMessage::Sequence { sequence_id }),
    ]
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(
        messages in prop::collection::vec(messages(), 1..5),
        step in 1_usize..64,
    ) {
        for protocol in BOTH {
            let bytes: Vec<u8> = messages
                .iter()
                .flat_map(|it| protocol.encode(it).as_bytes().to_vec())
                .collect();
            let decoded = decode_frames(protocol, MessageLimits::default(), bytes.chunks(step));
            prop_assert_eq!(decoded, (messages.clone(), None));
        }
    }

    #[test]
    fn random_bytes_are_decoded_alike_however_they_are_cut(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        step in 1_usize..64,
    ) {
        for protocol in BOTH {
            let at_once = decode_frames(protocol, MessageLimits::default(), [&bytes[..]]);
            let cut = decode_frames(protocol, MessageLimits::default(), bytes.chunks(step));
            prop_assert_eq!(at_once, cut);
        }
    }

    #[test]
    fn changed_bytes_never_panic(
        message in messages(),
        position in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        for protocol in BOTH {
            let mut bytes = protocol.encode(&message).as_bytes().to_vec();
            let index = position.index(bytes.len());
            bytes[index] = byte;
            decode_frames(protocol, MessageLimits::default(), [&bytes[..]]);
        }
    }
}
