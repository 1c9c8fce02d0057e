//! Bodies in storage: sealed for their row, so that a body that was moved to
//! another row cannot be opened.

use pia_kernel::Secret;
use pia_sealing::{PersonSeal, SealContext, UnsealError};
use pia_storage::DbError;
use pia_sync::ItemKey;

const PURPOSE: &str = "sync-item";

/// Seals the body of an item.
pub(crate) fn seal(with: &PersonSeal, key: ItemKey, body: &str) -> Result<Vec<u8>, DbError> {
    Ok(with.seal(seal_context(&row(key)), body.as_bytes())?)
}

/// Opens the body of an item; `None` if it was sealed under an abandoned master
/// key: one such row must not make all others unavailable.
pub(crate) fn open(with: &PersonSeal, key: ItemKey, sealed: &[u8]) -> Option<String> {
    let opened = opened_body(key, with.open(seal_context(&row(key)), sealed))?;
    String::from_utf8(opened).ok()
}

/// Opens a sealed body in place.
pub(crate) fn open_in_place(with: &PersonSeal, key: ItemKey, sealed: Vec<u8>) -> Option<Vec<u8>> {
    opened_body(key, with.open_long(seal_context(&row(key)), sealed))
}

fn opened_body(key: ItemKey, opened: Result<Secret<Vec<u8>>, UnsealError>) -> Option<Vec<u8>> {
    if let Err(err) = &opened {
        let error = err as &dyn std::error::Error;
        let channel = key.channel.name();
        tracing::error!(error, channel, id = %key.id, "item could not be decrypted; omitted");
    }
    Some(opened.ok()?.reveal())
}

fn row(key: ItemKey) -> Vec<u8> {
    [&key.channel.code().to_be_bytes()[..], key.id.as_bytes()].concat()
}

fn seal_context(row: &[u8]) -> SealContext<'_> {
    SealContext { purpose: PURPOSE, row }
}
