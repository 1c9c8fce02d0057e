//! Bodies as they are kept: sealed for the row they stand in.

use pia_kernel::Unavailable;
use pia_sealing::{PersonSeal, Place};
use pia_storage::DbError;
use pia_sync::Key;

const PURPOSE: &str = "sync-item";

/// Seals the body of an item.
pub(crate) fn seal(with: &PersonSeal, key: Key, body: &str) -> Result<Vec<u8>, DbError> {
    Ok(with.seal(place(&row(key)), body.as_bytes())?)
}

/// Opens the body of an item.
pub(crate) fn open(with: &PersonSeal, key: Key, sealed: &[u8]) -> Result<String, DbError> {
    let opened = with
        .open(place(&row(key)), sealed)
        .map_err(|err| DbError::Sealing(Unavailable::new("sealing", err)))?;
    String::from_utf8(opened.expose().clone())
        .map_err(|_err| DbError::Unreadable("sync_items.body"))
}

fn row(key: Key) -> Vec<u8> {
    [&key.channel.code().to_be_bytes()[..], key.id.as_bytes()].concat()
}

fn place(row: &[u8]) -> Place<'_> {
    Place { purpose: PURPOSE, row }
}
