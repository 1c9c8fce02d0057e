//! Tests of an account with two devices over days.

mod chats;
mod deletions;
mod encrypted;
mod generations;
mod joining;
mod plain;
mod reset;
mod skew;
mod waiting;

use std::time::Duration;

use super::device::{Device, Generation};
use super::fields::Channel;
use super::pull::Pulled;

const HOUR: Duration = Duration::from_hours(1);
const MINUTE: Duration = Duration::from_mins(1);

/// Cycles the devices in turn until a full round has nothing new for any of
/// them.
async fn settle<const N: usize>(mut devices: [&mut Device; N]) {
    for _ in 0..12 {
        let mut is_settled = true;
        for device in &mut devices {
            let cycle = device.cycle().await;
            let pulls_conditionally = device.generation != Generation::March;
            is_settled &= !pulls_conditionally || cycle.pulled == Pulled::NotModified;
        }
        if is_settled {
            return;
        }
    }
    let last_pulled: Vec<_> = devices.iter().map(|it| &it.last_pulled).collect();
    panic!("the devices repeat their rows to each other without end: {last_pulled:?}");
}

/// Asserts that two devices have the same rows.
fn agree(left: &Device, right: &Device, when: &str) {
    let left_rows = left.shared();
    let right_rows = right.shared();
    for key in left_rows.keys().chain(right_rows.keys()) {
        assert_eq!(left_rows.get(key), right_rows.get(key), "{when}: {key:?}");
    }
}

/// Creates one row of each channel.
fn one_of_each(device: &mut Device, words: &str) -> Vec<(Channel, String)> {
    let create = |channel: Channel| (channel, device.create(channel, words));
    Channel::ROWS.into_iter().map(create).collect()
}

/// Returns the rows that can be edited and deleted, and that other devices receive.
fn editable(rows: &[(Channel, String)]) -> impl Iterator<Item = &(Channel, String)> {
    let fixed_channels = [Channel::Sessions, Channel::KanbanColumns];
    rows.iter().filter(move |(channel, _)| !fixed_channels.contains(channel))
}

/// Edits all rows that can be edited.
fn edit_all(device: &mut Device, rows: &[(Channel, String)], text: &str) {
    for (channel, id) in editable(rows) {
        assert!(device.edit(*channel, id, text), "{channel:?}");
    }
}
