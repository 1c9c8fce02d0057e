//! Databases of locations in the MMDB format.
//!
//! The file is a binary search tree of the bits of an address, then a separator, the
//! records, and the metadata. Each node has two 24-bit targets, for the bits 0 and 1:
//! another node, or the number of nodes for no record, or beyond that a record.

#![expect(clippy::expect_used, reason = "for tests")]

use std::net::Ipv4Addr;

/// Bits of an address, each of which is a node of the search tree.
const NODES: u32 = u32::BITS;
/// Bytes between the search tree and the records.
const SEPARATOR: u32 = 16;
const METADATA_MARKER: &[u8] = b"\xAB\xCD\xEFMaxMind.com";
/// Types of values, in the upper three bits of their first byte.
const TEXT: u8 = 2 << 5;
const MAP: u8 = 7 << 5;
/// Metadata: 16-bit and 32-bit numbers of one byte, the 64-bit number 0, and an
/// empty list.
const U16: u8 = (5 << 5) | 1;
const U32: u8 = (6 << 5) | 1;
const ZERO_U64: [u8; 2] = [0, 2];
const EMPTY_LIST: [u8; 2] = [0, 4];

/// Name of a member of a map, and its encoded value.
type Member<'a> = (&'a str, Vec<u8>);

/// Returns a database with one address. Its record has names by language for
/// `city`, `country` or both: `[("country", &[("en", "Austria")])]`.
pub fn location_database(address: Ipv4Addr, record: &[(&str, &[(&str, &str)])]) -> Vec<u8> {
    let mut file = Vec::new();
    for node in 0..NODES {
        // The number of nodes stands for an address without a record.
        let next = if node + 1 == NODES { NODES + SEPARATOR } else { node + 1 };
        let is_one = (address.to_bits() >> (NODES - 1 - node)) & 1 == 1;
        let targets = if is_one { [NODES, next] } else { [next, NODES] };
        for target in targets {
            let [_, bytes @ ..] = target.to_be_bytes();
            file.extend(bytes);
        }
    }

    file.extend([0_u8; SEPARATOR as usize]);
    file.extend(encode_map(record.iter().map(|(part, names)| {
        let names = encode_map(names.iter().map(|(tag, name)| (*tag, encode_text(name))));
        (*part, encode_map([("names", names)]))
    })));

    file.extend(METADATA_MARKER);
    file.extend(metadata());

    file
}

fn metadata() -> Vec<u8> {
    encode_map([
        ("binary_format_major_version", vec![U16, 2]),
        ("binary_format_minor_version", vec![U16, 0]),
        ("build_epoch", ZERO_U64.to_vec()),
        ("database_type", encode_text("Test-City")),
        ("description", encode_map([])),
        ("ip_version", vec![U16, 4]),
        ("languages", EMPTY_LIST.to_vec()),
        ("node_count", vec![U32, 32]),
        ("record_size", vec![U16, 24]),
    ])
}

fn encode_map<'a>(members: impl IntoIterator<Item = Member<'a>>) -> Vec<u8> {
    let mut count = 0;
    let mut bytes = Vec::new();
    for (name, value) in members {
        count += 1;
        bytes.extend(encode_text(name));
        bytes.extend(value);
    }
    bytes.insert(0, MAP | count);
    bytes
}

/// Encodes a text of less than 29 bytes.
fn encode_text(text: &str) -> Vec<u8> {
    let length = u8::try_from(text.len()).ok().filter(|it| *it < 29).expect("a short text");
    [&[TEXT | length][..], text.as_bytes()].concat()
}
