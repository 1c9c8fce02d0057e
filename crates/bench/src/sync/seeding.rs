//! Data stored before the measurements.
//!
//! Three series of pushes, each with a later month, leave three cursors, from
//! which a device pulls a tenth, a hundredth or none of the items.

use super::items::Rng;
use super::person::Device;
use crate::failure::Outcome;

/// Number of items of a user with many, and of a user with few.
pub(super) const MANY: usize = 10_000;
pub(super) const FEW: usize = 100;
/// Number of items in one push.
pub(super) const BATCH: usize = 500;

const TENTH: usize = MANY / 10;
const HUNDREDTH: usize = MANY / 100;

/// Cursors after which parts of the items changed.
#[derive(Debug, Clone)]
pub(super) struct Changes {
    /// Cursor after which a tenth of the items changed.
    pub(super) tenth: String,
    /// Cursor after which a hundredth of the items changed.
    pub(super) hundredth: String,
    /// Cursor after which nothing changed.
    pub(super) last: String,
}

/// Pushes many items, and then changes to a tenth of them.
pub(super) fn many(device: &mut Device) -> Outcome<Changes> {
    let mut rng = Rng::new(1);
    let ids: Vec<String> = (0..MANY).map(|_| rng.id()).collect();
    // Every tenth item changes; the last hundredth is pushed separately. Ids
    // are random.
    let changed_ids: Vec<String> = ids.iter().step_by(MANY / TENTH).cloned().collect();
    let (first, rest) = changed_ids.split_at(TENTH - HUNDREDTH);
    let tenth = push(device, &mut rng, &ids, 1, None)?;
    let hundredth = push(device, &mut rng, first, 2, Some(&tenth))?;
    let last = push(device, &mut rng, rest, 3, Some(&hundredth))?;
    Ok(Changes { tenth, hundredth, last })
}

/// Pushes few items.
pub(super) fn few(device: &mut Device) -> Outcome<()> {
    let mut rng = Rng::new(2);
    let ids: Vec<String> = (0..FEW).map(|_| rng.id()).collect();
    push(device, &mut rng, &ids, 1, None).map(drop)
}

/// Pushes these items as changed in this month and returns the last stamp.
fn push(
    device: &mut Device,
    rng: &mut Rng,
    ids: &[String],
    month: u32,
    last_seen: Option<&str>,
) -> Outcome<String> {
    let mut last: Option<String> = None;
    for batch in ids.chunks(BATCH) {
        let items: Vec<_> = batch.iter().map(|id| rng.todo(id, month)).collect();
        let last_seen = last.as_deref().or(last_seen);
        last = Some(device.push(&device.push_request(&items, last_seen))?);
    }
    last.ok_or_else(|| "there is nothing to push".into())
}
