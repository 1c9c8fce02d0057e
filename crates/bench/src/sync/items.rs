//! Items that devices push.

use serde_json::{Value, json};

/// Size of each item in bytes of JSON.
const BYTES: usize = 1024;

/// Pseudorandom number generator with a fixed sequence for each seed.
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn next_number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a random id, like those of devices, so that the rows of one push
    /// are far apart.
    pub(super) fn id(&mut self) -> String {
        let first = self.next_number();
        let last = self.next_number();
        let low = first & 0xFFF;
        let middle = (first >> 16) & 0xFFFF;
        let tail = last & 0xFFFF_FFFF_FFFF;
        format!("{:08x}-{middle:04x}-4{low:03x}-8000-{tail:012x}", first >> 32)
    }

    /// Returns a random id as SQLite stores it.
    pub(super) fn bytes(&mut self) -> Vec<u8> {
        [self.next_number().to_be_bytes(), self.next_number().to_be_bytes()].concat()
    }

    fn text(&mut self, length: usize) -> String {
        let character = |it: u64| char::from_digit(u32::try_from(it % 36).unwrap_or(0), 36);
        (0..length).filter_map(|_| character(self.next_number())).collect()
    }

    /// Returns the item with this id as changed in this month.
    pub(super) fn todo(&mut self, id: &str, month: u32) -> Value {
        let todo = |notes: String| {
            json!({
                "id": id,
                "title": "A thing that is to be done",
                "notes": notes,
                "priority": 1,
                "status": 0,
                "createdAt": "2025-01-01T08:30:00Z",
                "updatedAt": format!("2025-{month:02}-01T08:30:00Z"),
            })
        };

        let rest = todo(String::new()).to_string().len();
        todo(self.text(BYTES.saturating_sub(rest)))
    }
}

/// Creates the body of a push by a device that has pulled all changes up to
/// `last_seen`.
pub(super) fn push(items: &[Value], last_seen: Option<&str>) -> Value {
    let mut body = json!({ "deviceId": "bench", "todos": { "upserted": items } });
    if let (Some(body), Some(last_seen)) = (body.as_object_mut(), last_seen) {
        body.insert("lastSyncTimestamp".to_owned(), json!(last_seen));
    }
    body
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn items_have_one_size_and_ids_differ() {
        let mut rng = Rng::new(1);

        let ids: HashSet<String> = (0..10_000).map(|_| rng.id()).collect();
        let todo = rng.todo("0190f5a0-0000-4000-8000-00000000000a", 12);

        assert_eq!(ids.len(), 10_000);
        assert!(ids.iter().all(|it| it.len() == 36), "{:?}", ids.iter().next());
        assert_eq!(todo.to_string().len(), BYTES);
    }

    #[test]
    fn a_push_contains_the_last_seen_timestamp() {
        let first = push(&[json!({})], None);
        let later = push(&[], Some("2025-01-01T00:00:00Z"));

        assert_eq!(first, json!({ "deviceId": "bench", "todos": { "upserted": [{}] } }));
        assert_eq!(later["lastSyncTimestamp"], "2025-01-01T00:00:00Z");
    }
}
