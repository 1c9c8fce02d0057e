//! Things that devices push.

use serde_json::{Value, json};

/// Size of each item in bytes of JSON.
const BYTES: usize = 1024;

/// Numbers that look as if they had no order, and are the same every time.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// An id as devices make them: random, so that rows of one push are far
    /// from one another.
    pub(super) fn id(&mut self) -> String {
        let (first, last) = (self.roll(), self.roll());
        let (low, middle) = (first & 0xFFF, (first >> 16) & 0xFFFF);
        let tail = last & 0xFFFF_FFFF_FFFF;
        format!("{:08x}-{middle:04x}-4{low:03x}-8000-{tail:012x}", first >> 32)
    }

    /// An id as SQLite keeps it.
    pub(super) fn bytes(&mut self) -> Vec<u8> {
        [self.roll().to_be_bytes(), self.roll().to_be_bytes()].concat()
    }

    fn text(&mut self, length: usize) -> String {
        let letter = |it: u64| char::from_digit(u32::try_from(it % 36).unwrap_or(0), 36);
        (0..length).filter_map(|_| letter(self.roll())).collect()
    }

    /// The thing of this id, as it is since this month.
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

/// The body of a push, by a device that has seen everything up to `seen`.
pub(super) fn push(items: &[Value], seen: Option<&str>) -> Value {
    let mut body = json!({ "deviceId": "bench", "todos": { "upserted": items } });
    if let (Some(body), Some(seen)) = (body.as_object_mut(), seen) {
        body.insert("lastSyncTimestamp".to_owned(), json!(seen));
    }
    body
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn things_are_of_one_size_and_ids_differ() {
        let mut dice = Dice::new(1);

        let ids: HashSet<String> = (0..10_000).map(|_| dice.id()).collect();
        let todo = dice.todo("0190f5a0-0000-4000-8000-00000000000a", 12);

        assert_eq!(ids.len(), 10_000);
        assert!(ids.iter().all(|it| it.len() == 36), "{:?}", ids.iter().next());
        assert_eq!(todo.to_string().len(), BYTES);
    }

    #[test]
    fn a_push_reports_what_its_device_has_seen() {
        let unseen = push(&[json!({})], None);
        let seen = push(&[], Some("2025-01-01T00:00:00Z"));

        assert_eq!(unseen, json!({ "deviceId": "bench", "todos": { "upserted": [{}] } }));
        assert_eq!(seen["lastSyncTimestamp"], "2025-01-01T00:00:00Z");
    }
}
