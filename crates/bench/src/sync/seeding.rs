//! Data stored before the measurements.

use super::items::Dice;
use super::person::Device;
use crate::failure::Outcome;

/// Number of items of a user with many, and of a user with few.
pub(super) const MANY: usize = 10_000;
pub(super) const FEW: usize = 100;
/// Number of items in one push.
pub(super) const BATCH: usize = 500;

const TENTH: usize = MANY / 10;
const HUNDREDTH: usize = MANY / 100;

/// After which stamps a part of what somebody has changed.
#[derive(Debug, Clone)]
pub(super) struct Changes {
    /// Cursor after which a tenth of the items changed.
    pub(super) tenth: String,
    /// One in a hundred changed after this.
    pub(super) hundredth: String,
    /// Cursor after which nothing changed.
    pub(super) last: String,
}

/// Pushes many things, and changes to some of them from all over.
pub(super) fn many(device: &mut Device) -> Outcome<Changes> {
    let mut dice = Dice::new(1);
    let ids: Vec<String> = (0..MANY).map(|_| dice.id()).collect();
    // Every tenth, the last of which change once more apart: ids have no order.
    let changed: Vec<String> = ids.iter().step_by(MANY / TENTH).cloned().collect();
    let (max, rest) = changed.split_at(TENTH - HUNDREDTH);
    let tenth = push(device, &mut dice, (&ids, 1), None)?;
    let hundredth = push(device, &mut dice, (max, 2), Some(&tenth))?;
    let last = push(device, &mut dice, (rest, 3), Some(&hundredth))?;
    Ok(Changes { tenth, hundredth, last })
}

/// Pushes few things.
pub(super) fn few(device: &mut Device) -> Outcome<()> {
    let mut dice = Dice::new(2);
    let ids: Vec<String> = (0..FEW).map(|_| dice.id()).collect();
    push(device, &mut dice, (&ids, 1), None).map(drop)
}

/// Pushes these things as they are since this month; gives the last stamp.
fn push(
    device: &mut Device,
    dice: &mut Dice,
    (ids, month): (&[String], u32),
    seen: Option<&str>,
) -> Outcome<String> {
    let mut last: Option<String> = None;
    for ids in ids.chunks(BATCH) {
        let items: Vec<_> = ids.iter().map(|id| dice.todo(id, month)).collect();
        let seen = last.as_deref().or(seen);
        last = Some(device.push(&device.push_of(&items, seen))?);
    }
    last.ok_or_else(|| "there is nothing to push".into())
}
