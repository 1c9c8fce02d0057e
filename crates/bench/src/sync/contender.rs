//! A server under load, and the database that it has.

use std::path::Path;

use super::items::Dice;
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

/// A server with what was pushed to it, and its database.
pub(super) struct Contender<'a> {
    pub(super) server: &'a Server,
    pub(super) raw: Raw,
    pub(super) log: Option<StatementLog>,
    pub(super) changes: Changes,
    pub(super) dice: Dice,
}

impl<'a> Contender<'a> {
    /// Pushes what there is to be; a server without a URL is one on SQLite.
    pub(super) fn prepare(
        server: &'a Server,
        url: Option<&str>,
        log: Option<&Path>,
        users: u32,
    ) -> Outcome<Self> {
        let changes = seeding::many(&mut device(server, WITH_MANY)?)?;
        seeding::few(&mut device(server, WITH_FEW)?)?;
        let whose = RowOwner { email: address(WITH_MANY), since: &changes.hundredth };
        let mut raw = Raw::of(server, url, &whose)?;
        raw.copy(users.saturating_sub(1))?;
        let log = url.zip(log).map(|(url, log)| StatementLog::open(url, log)).transpose()?;
        Ok(Self { server, raw, log, changes, dice: Dice::new(4) })
    }
}

/// A device of whoever this account belongs to, signed in anew.
pub(super) fn device(server: &Server, account: usize) -> Outcome<Device> {
    Device::open(server.address, server.accounts.tokens(account)?.access)
}

/// A push of things that nobody has yet.
pub(super) fn fresh(device: &Device, dice: &mut Dice) -> Call {
    let ids: Vec<String> = (0..BATCH).map(|_| dice.id()).collect();
    let items: Vec<_> = ids.iter().map(|id| dice.todo(id, 1)).collect();
    device.push_of(&items, None)
}
