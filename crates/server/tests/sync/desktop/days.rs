//! Days of an account with two devices.

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

/// Lets the devices cycle in turn until a whole round brings none of them
/// anything.
async fn settle<const N: usize>(mut devices: [&mut Device; N]) {
    for _ in 0..12 {
        let mut quiet = true;
        for device in &mut devices {
            let cycle = device.cycle().await;
            let requests = device.generation != Generation::March;
            quiet &= !requests || cycle.pulled == Pulled::NotModified;
        }
        if quiet {
            return;
        }
    }
    let heard: Vec<_> = devices.iter().map(|it| &it.heard).collect();
    panic!("sync 2.5 and 3.4: the devices keep telling each other the same: {heard:?}");
}

/// Checks that the two hold the same.
fn agree(one: &Device, other: &Device, when: &str) {
    let (left, right) = (one.shared(), other.shared());
    for key in left.keys().chain(right.keys()) {
        assert_eq!(left.get(key), right.get(key), "sync 2.4, {when}: {key:?}");
    }
}

/// Writes one row of each kind.
fn one_of_each(device: &mut Device, words: &str) -> Vec<(Channel, String)> {
    let create = |channel: Channel| (channel, device.create(channel, words));
    Channel::ROWS.into_iter().map(create).collect()
}

/// Rows that can be edited and deleted, and that other devices receive.
fn editable(rows: &[(Channel, String)]) -> impl Iterator<Item = &(Channel, String)> {
    let fixed = [Channel::Sessions, Channel::KanbanColumns];
    rows.iter().filter(move |it| !fixed.contains(&it.0))
}
