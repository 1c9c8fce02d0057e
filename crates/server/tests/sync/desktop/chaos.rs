//! Disorder: several devices write, delete, sync and lose answers at once, by
//! clocks up to a day apart; in the end all hold the same rows, and each row is
//! one that can have come of what was said (see [`super::model`]).

use std::thread;
use std::time::Duration;

use futures_util::future::join_all;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use uuid::Uuid;

use super::device::Device;
use super::fields::Channel;
use super::pull::Pulled;
use super::push::{Pushed, Sending};
use super::world::World;

on_both_databases!(
    whatever_devices_do_at_once_they_come_to_the_same_rows,
    whatever_devices_do_at_once_to_rows_nobody_reads_they_come_to_the_same,
);

const DEVICES: usize = 4;
const PHASES: usize = 4;
const STEPS: usize = 14;
const DAY: u64 = 86_400;

/// Channels of which every device hears everything.
const CHANNELS: [Channel; 8] = Channel::ROWS;

/// Numbers that come again with their seed (`SplitMix64`).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut it = self.0;
        it = (it ^ (it >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let sides = u64::try_from(sides).expect("few");
        usize::try_from((it ^ (it >> 31)) % sides).expect("fewer")
    }

    fn seconds(&mut self, max: u64) -> u64 {
        u64::try_from(self.roll(usize::try_from(max).expect("few") + 1)).expect("few")
    }
}

/// Reports the seed of a test that fails.
struct Seed(u64);

impl Drop for Seed {
    #[expect(clippy::print_stderr, reason = "a failure that cannot be repeated is of no use")]
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("the seed was {:#x}", self.0);
        }
    }
}

async fn whatever_devices_do_at_once_they_come_to_the_same_rows(database: TestDatabase) {
    let world = World::new(database).await;
    // To repeat a failure, put its seed here.
    let (_, random) = Uuid::now_v7().as_u64_pair();
    let seed = Seed(random);
    let mut dice = Dice(seed.0);
    let mut devices = Vec::new();
    for _ in 0..DEVICES {
        let mut device = world.device().await;
        device.skew = skew(&mut dice);
        devices.push(device);
    }
    disorder(&world, &mut devices, &mut dice, true).await;
}

async fn whatever_devices_do_at_once_to_rows_nobody_reads_they_come_to_the_same(
    database: TestDatabase,
) {
    let world = World::new(database).await;
    let (_, random) = Uuid::now_v7().as_u64_pair();
    let seed = Seed(random);
    let mut dice = Dice(seed.0);
    let mut services = world.device().await;
    services.enable_encryption().await;
    let code = services.recovery_code.clone().expect("a code");
    let mut devices = vec![services];
    for _ in 1..DEVICES {
        let mut device = world.device().await;
        device.join_by_code(&code).await;
        device.skew = skew(&mut dice);
        devices.push(device);
    }
    disorder(&world, &mut devices, &mut dice, false).await;
}

/// Clock skew of a device; none for every second one.
fn skew(dice: &mut Dice) -> i64 {
    let seconds = i64::try_from(dice.seconds(2 * DAY)).expect("two days") - 86_400;
    if dice.roll(2) == 0 { seconds } else { 0 }
}

async fn disorder(world: &World, devices: &mut Vec<Device>, dice: &mut Dice, resets: bool) {
    for phase in 0..PHASES {
        let seeds = std::iter::repeat_with(|| dice.seconds(1 << 32));
        let acting = devices.iter_mut().zip(seeds).map(|(it, seed)| act(it, Dice(seed)));
        join_all(acting.collect::<Vec<_>>()).await;
        if resets && phase > 0 && dice.roll(4) == 0 {
            reset(world, devices).await;
        }
    }

    // All that is said is heard, but for what a client hides from itself:
    // changes that are older than its cursor (sync 3.2, Delta).
    world.pass(Duration::from_secs(3 * DAY));
    settle(devices).await;
    let hidden: Vec<_> = devices.iter().flat_map(|it| it.unpushed.clone()).collect();
    let first = devices.first().expect("a device").shared();
    for device in devices.iter() {
        let shared = device.shared();
        for key in shared.keys().chain(first.keys()).filter(|it| !hidden.contains(it)) {
            assert_eq!(shared.get(key), first.get(key), "sync 2.5: not in step about {key:?}");
        }
    }

    // A client at a loss begins anew, and hides nothing then.
    for device in devices.iter_mut().filter(|it| !it.unpushed.is_empty()) {
        device.resync();
    }
    settle(devices).await;
    devices.push(newcomer(world, devices).await);
    settle(devices).await;
    let first = devices.first().expect("a device").shared();
    for (number, device) in devices.iter().enumerate() {
        assert!(device.unpushed.is_empty(), "sync 3.2, First sync: all rows");
        let shared = device.shared();
        for key in shared.keys().chain(first.keys()) {
            let place = format!("sync 2.4: device {number} about {key:?}");
            assert_eq!(shared.get(key), first.get(key), "{place}");
        }
        world.journal.judge(&shared, &format!("device {number}"));
    }
}

/// Somebody who was never there.
async fn newcomer(world: &World, devices: &[Device]) -> Device {
    let mut device = world.device().await;
    if let Some(code) = devices.iter().find_map(|it| it.recovery_code.clone()) {
        device.join_by_code(&code).await;
    }
    device
}

/// Throws everything away, and every device begins anew with what it has.
async fn reset(world: &World, devices: &mut [Device]) {
    devices.first_mut().expect("a device").reset().await;
    world.journal.clear();
    for device in devices {
        // A pull before its next push hides what the server has lost.
        device.unpushed = device.store.keys().cloned().collect();
        device.resync();
    }
}

async fn settle(devices: &mut [Device]) {
    for _ in 0..16 {
        let mut quiet = true;
        for device in devices.iter_mut() {
            let cycle = device.cycle().await;
            let refused = matches!(cycle.pushed, Pushed::Refused(_));
            assert!(!refused, "sync 3.4, All-or-nothing harm: {:?}", cycle.pushed);
            quiet &= cycle.pulled == Pulled::NotModified;
        }
        if quiet {
            return;
        }
    }
    let heard: Vec<_> = devices.iter().map(|it| &it.heard).collect();
    panic!("sync 2.5 and 3.4: the devices keep telling each other the same: {heard:?}");
}

/// Runs one device while others do the same.
async fn act(device: &mut Device, mut dice: Dice) {
    for _ in 0..STEPS {
        device.time.advance(Duration::from_secs(dice.seconds(30)));
        match dice.roll(100) {
            0..20 => {
                let channel = CHANNELS[dice.roll(CHANNELS.len())];
                device.create(channel, "created");
            }
            20..50 => edit(device, &mut dice),
            50..60 => delete(device, &mut dice),
            60..64 => device.set(&Uuid::now_v7().to_string()),
            64..90 => {
                // Who else was waited for took longer than a token lasts.
                let pushed = match device.push().await {
                    Pushed::Refused(401) => again(device).await,
                    pushed => pushed,
                };
                let refused = matches!(pushed, Pushed::Refused(_));
                assert!(!refused, "sync 3.4, All-or-nothing harm: {pushed:?}");
                pull(device, &mut dice).await;
            }
            90..95 => {
                device.push_as(Sending::Unheard).await;
            }
            95..98 => pull(device, &mut dice).await,
            _ => device.resync(),
        }
    }
}

async fn again(device: &mut Device) -> Pushed {
    device.log_in().await;
    device.push().await
}

/// A few rows at a time.
async fn pull(device: &mut Device, dice: &mut Dice) {
    let limit = 1 + dice.roll(12);
    let mut pulled = device.pull_by(limit).await;
    if matches!(pulled, Pulled::Refused(401)) {
        device.log_in().await;
        pulled = device.pull_by(limit).await;
    }
    let went_well = matches!(pulled, Pulled::Applied { .. } | Pulled::NotModified);
    assert!(went_well, "sync 2.3: {pulled:?}");
}

/// A row that there is, and of which the others hear.
fn any(device: &Device, dice: &mut Dice) -> Option<(Channel, String)> {
    let fixed = [Channel::Settings, Channel::Sessions];
    let keys: Vec<_> = device.store.keys().filter(|it| !fixed.contains(&it.0)).collect();
    (!keys.is_empty()).then(|| keys[dice.roll(keys.len())].clone())
}

fn edit(device: &mut Device, dice: &mut Dice) {
    if let Some((channel, id)) = any(device, dice) {
        device.edit(channel, &id, &Uuid::now_v7().to_string());
    }
}

fn delete(device: &mut Device, dice: &mut Dice) {
    // Nobody hears of a column's deletion (sync 2.4).
    if let Some((channel, id)) = any(device, dice).filter(|it| it.0 != Channel::KanbanColumns) {
        device.delete(channel, &id);
    }
}
