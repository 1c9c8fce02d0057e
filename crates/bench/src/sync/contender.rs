//! Server under load, and its database.
//!
//! `prepare` pushes the items before it opens the database: the raw access looks
//! up the owner and copies rows that are already there.

use std::path::Path;

use super::items::Rng;
use super::person::Device;
use super::raw::{Raw, RowOwner};
use super::seeding::{self, BATCH, Changes};
use super::statements::StatementLog;
use crate::call::Call;
use crate::contenders::Server;
use crate::failure::Outcome;
use crate::installation::address;

/// Account numbers of the users with many and with few items; the others push.
pub(super) const WITH_MANY: usize = 0;
pub(super) const WITH_FEW: usize = 1;

/// Server with stored data, and its database.
pub(super) struct Contender<'a> {
    pub(super) server: &'a Server,
    pub(super) raw: Raw,
    pub(super) log: Option<StatementLog>,
    pub(super) changes: Changes,
    pub(super) rng: Rng,
}

impl<'a> Contender<'a> {
    /// Stores the data; without a URL the server is on SQLite.
    pub(super) fn prepare(
        server: &'a Server,
        url: Option<&str>,
        log: Option<&Path>,
        users: u32,
    ) -> Outcome<Self> {
        let changes = seeding::many(&mut device(server, WITH_MANY)?)?;
        seeding::few(&mut device(server, WITH_FEW)?)?;
        let owner = RowOwner { email: address(WITH_MANY), since: &changes.hundredth };
        let mut raw = Raw::open(server, url, &owner)?;
        raw.copy(users.saturating_sub(1))?;
        let log = url.zip(log).map(|(url, log)| StatementLog::open(url, log)).transpose()?;
        Ok(Self { server, raw, log, changes, rng: Rng::new(4) })
    }
}

/// Signs in a new device of this account.
pub(super) fn device(server: &Server, account: usize) -> Outcome<Device> {
    Device::open(server.address, server.accounts.tokens(account)?.access)
}

/// Creates a push of new items.
pub(super) fn new_items_push(device: &Device, rng: &mut Rng) -> Call {
    let ids: Vec<String> = (0..BATCH).map(|_| rng.id()).collect();
    let items: Vec<_> = ids.iter().map(|id| rng.todo(id, 1)).collect();
    device.push_request(&items, None)
}
