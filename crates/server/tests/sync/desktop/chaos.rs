//! Tests of several devices that concurrently write, delete, sync and lose
//! answers, with clocks up to a day apart: in the end all have the same rows,
//! and each row can result from the pushes (see [`super::model`]).

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
    concurrent_devices_converge_to_the_same_rows,
    concurrent_devices_of_an_encrypted_account_converge,
);

const DEVICES: usize = 4;
const PHASES: usize = 4;
const STEPS: usize = 14;
const DAY: u64 = 86_400;

/// Channels of which every device receives everything.
const CHANNELS: [Channel; 8] = Channel::ROWS;

/// Seeded generator of random numbers (`SplitMix64`).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let sides = u64::try_from(sides).expect("few");
        usize::try_from((bits ^ (bits >> 31)) % sides).expect("fewer")
    }

    fn seconds(&mut self, max: u64) -> u64 {
        u64::try_from(self.roll(usize::try_from(max).expect("few") + 1)).expect("few")
    }
}

/// Seed that is printed when the test fails.
struct Seed(u64);

impl Drop for Seed {
    #[expect(clippy::print_stderr, reason = "a failure that cannot be repeated is of no use")]
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("the seed was {:#x}", self.0);
        }
    }
}

async fn concurrent_devices_converge_to_the_same_rows(database: TestDatabase) {
    let world = World::new(database).await;
    // To reproduce a failure, set its seed here.
    let (_, random) = Uuid::now_v7().as_u64_pair();
    let seed = Seed(random);
    let mut dice = Dice(seed.0);
    let mut devices = Vec::new();
    for _ in 0..DEVICES {
        let mut device = world.sign_in_device().await;
        device.skew = skew(&mut dice);
        devices.push(device);
    }

    run_concurrently(&world, &mut devices, &mut dice, true).await;
}

async fn concurrent_devices_of_an_encrypted_account_converge(database: TestDatabase) {
    let world = World::new(database).await;
    let (_, random) = Uuid::now_v7().as_u64_pair();
    let seed = Seed(random);
    let mut dice = Dice(seed.0);

    let mut desk = world.sign_in_device().await;
    desk.enable_encryption().await;
    let code = desk.recovery_code.clone().expect("a code");
    let mut devices = vec![desk];
    for _ in 1..DEVICES {
        let mut device = world.sign_in_device().await;
        device.join_by_code(&code).await;
        device.skew = skew(&mut dice);
        devices.push(device);
    }

    run_concurrently(&world, &mut devices, &mut dice, false).await;
}

/// Returns a random clock skew; zero for every second device.
fn skew(dice: &mut Dice) -> i64 {
    let seconds = i64::try_from(dice.seconds(2 * DAY)).expect("two days") - 86_400;
    if dice.roll(2) == 0 { seconds } else { 0 }
}

async fn run_concurrently(world: &World, devices: &mut Vec<Device>, dice: &mut Dice, resets: bool) {
    for phase in 0..PHASES {
        let seeds = std::iter::repeat_with(|| dice.seconds(1 << 32));
        let acting = devices.iter_mut().zip(seeds).map(|(it, seed)| run_device(it, Dice(seed)));
        join_all(acting.collect::<Vec<_>>()).await;
        if resets && phase > 0 && dice.roll(4) == 0 {
            reset(world, devices).await;
        }
    }

    // All changes arrive, except for those that a client misses: changes older
    // than its cursor.
    world.advance(Duration::from_secs(3 * DAY));
    settle(devices).await;
    let hidden: Vec<_> = devices.iter().flat_map(|it| it.unpushed.clone()).collect();
    let first = devices.first().expect("a device").shared();
    for device in devices.iter() {
        let shared = device.shared();
        for key in shared.keys().chain(first.keys()).filter(|it| !hidden.contains(it)) {
            assert_eq!(shared.get(key), first.get(key), "the devices differ in {key:?}");
        }
    }

    // A full resync pushes those too.
    for device in devices.iter_mut().filter(|it| !it.unpushed.is_empty()) {
        device.resync();
    }
    settle(devices).await;
    devices.push(new_device(world, devices).await);
    settle(devices).await;
    let first = devices.first().expect("a device").shared();
    for (number, device) in devices.iter().enumerate() {
        assert!(device.unpushed.is_empty(), "a full resync pushes all rows");
        let shared = device.shared();
        for key in shared.keys().chain(first.keys()) {
            let context = format!("device {number} differs in {key:?}");
            assert_eq!(shared.get(key), first.get(key), "{context}");
        }
        world.journal.check(&shared, &format!("device {number}"));
    }
}

/// Signs in a new device.
async fn new_device(world: &World, devices: &[Device]) -> Device {
    let mut device = world.sign_in_device().await;
    if let Some(code) = devices.iter().find_map(|it| it.recovery_code.clone()) {
        device.join_by_code(&code).await;
    }
    device
}

/// Resets the account; every device starts over with its rows.
async fn reset(world: &World, devices: &mut [Device]) {
    devices.first_mut().expect("a device").reset().await;
    world.journal.clear();
    for device in devices {
        // A pull before its next push would hide rows that the server has lost.
        device.unpushed = device.store.keys().cloned().collect();
        device.resync();
    }
}

async fn settle(devices: &mut [Device]) {
    for _ in 0..16 {
        let mut is_settled = true;
        for device in devices.iter_mut() {
            let cycle = device.cycle().await;
            let refused = matches!(cycle.pushed, Pushed::Refused(_));
            assert!(!refused, "a push is refused as a whole: {:?}", cycle.pushed);
            is_settled &= cycle.pulled == Pulled::NotModified;
        }
        if is_settled {
            return;
        }
    }

    let last_pulled: Vec<_> = devices.iter().map(|it| &it.last_pulled).collect();
    panic!("the devices repeat their rows to each other without end: {last_pulled:?}");
}

/// Runs one device while others do the same.
async fn run_device(device: &mut Device, mut dice: Dice) {
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
                // Other devices may take longer than the lifetime of a token.
                let pushed = match device.push().await {
                    Pushed::Refused(401) => log_in_and_push(device).await,
                    pushed => pushed,
                };
                let refused = matches!(pushed, Pushed::Refused(_));
                assert!(!refused, "a push is refused as a whole: {pushed:?}");
                pull(device, &mut dice).await;
            }
            90..95 => {
                device.push_as(Sending::ResponseLost).await;
            }
            95..98 => pull(device, &mut dice).await,
            _ => device.resync(),
        }
    }
}

async fn log_in_and_push(device: &mut Device) -> Pushed {
    device.log_in().await;
    device.push().await
}

/// Pulls in small pages.
async fn pull(device: &mut Device, dice: &mut Dice) {
    let limit = 1 + dice.roll(12);
    let mut pulled = device.pull_by(limit).await;
    if matches!(pulled, Pulled::Refused(401)) {
        device.log_in().await;
        pulled = device.pull_by(limit).await;
    }
    let succeeded = matches!(pulled, Pulled::Applied { .. } | Pulled::NotModified);

    assert!(succeeded, "a pull failed: {pulled:?}");
}

/// Returns a random existing row that is shared with other devices.
fn random_row(device: &Device, dice: &mut Dice) -> Option<(Channel, String)> {
    let fixed_channels = [Channel::Settings, Channel::Sessions];
    let keys: Vec<_> =
        device.store.keys().filter(|(channel, _)| !fixed_channels.contains(channel)).collect();
    (!keys.is_empty()).then(|| keys[dice.roll(keys.len())].clone())
}

fn edit(device: &mut Device, dice: &mut Dice) {
    if let Some((channel, id)) = random_row(device, dice) {
        device.edit(channel, &id, &Uuid::now_v7().to_string());
    }
}

fn delete(device: &mut Device, dice: &mut Dice) {
    // Clients ignore the deletion of a column.
    if let Some((channel, id)) =
        random_row(device, dice).filter(|it| it.0 != Channel::KanbanColumns)
    {
        device.delete(channel, &id);
    }
}
