//! Building a page from its rows, which `page_query.rs` passes to `add` in the
//! order of their stamps; `build` ends the page.
//!
//! A page is truncated if it reached a limit, even if nothing follows: the device
//! then gets an empty page next. Rows that are omitted (plugin preferences,
//! bodies that cannot be opened) still move `up_to`, so that no device requests
//! them for ever.

use bytes::{Bytes, BytesMut};
use pia_kernel::UserId;
use pia_sealing::{PersonSeal, Salt, Sealer};
use pia_storage::DbError;
use pia_sync::{ItemPage, PageLimit, Row};

use crate::item_row::item_key;
use crate::page_query::PageRow;
use crate::sealed_bodies;

/// Size of an allocation, in bytes.
const PIECE: usize = 64 * 1024;

/// Page under construction. Each row is opened as it arrives, so that sealed and
/// opened bodies of a page are never in memory together.
pub(crate) struct PageBuilder {
    sealer: Sealer,
    user: UserId,
    limit: PageLimit,
    seal: Option<PersonSeal>,
    texts: Texts,
    count: u64,
    bytes: u64,
    page: ItemPage,
}

impl PageBuilder {
    pub(crate) fn new(sealer: Sealer, user: UserId, limit: PageLimit) -> Self {
        let texts = Texts::default();
        let page = ItemPage::default();
        Self { sealer, user, limit, seal: None, texts, count: 0, bytes: 0, page }
    }

    pub(crate) fn add(&mut self, row: PageRow) -> Result<(), DbError> {
        let PageRow { channel, id, stamp, body, salt } = row;
        self.count += 1;
        self.page.up_to = Some(stamp.0);
        let key = item_key(channel, id)?;

        if self.seal.is_none() {
            self.seal = seal(&self.sealer, self.user, salt)?;
        }

        let body = match (body, &self.seal) {
            (Some(sealed), Some(seal)) => {
                let length = sealed.len();
                let opened = sealed_bodies::open_in_place(seal, key, sealed);
                self.bytes += opened.as_ref().map_or(length, Vec::len) as u64;
                match opened {
                    Some(opened) => Some(self.texts.append(&opened)),
                    // An omitted item must not look as if it had been deleted.
                    None => return Ok(()),
                }
            }
            // Without a salt nothing can be read.
            (Some(_), None) => return Err(DbError::Unreadable("person_salts")),
            (None, _) => None,
        };

        if key.channel.rules().is_pulled {
            self.page.rows.push(Row { key, stamp: stamp.0, body });
        }

        Ok(())
    }

    pub(crate) fn build(self) -> ItemPage {
        let Self { limit, count, bytes, page, .. } = self;
        let is_truncated = count >= u64::from(limit.rows) || bytes >= limit.bytes;
        ItemPage { is_truncated, ..page }
    }
}

/// Returns the key that opens an account's data; `None` without a salt, since no
/// data was sealed then.
pub(crate) fn seal(
    sealer: &Sealer,
    user: UserId,
    salt: Option<Vec<u8>>,
) -> Result<Option<PersonSeal>, DbError> {
    let parsed_salt = salt.and_then(|it| Some(Salt(it.try_into().ok()?)));
    Ok(parsed_salt.map(|it| sealer.with_salt(user, &it)).transpose()?)
}

/// Many texts in few allocations: an allocation is freed once all its texts are
/// dropped.
#[derive(Default)]
struct Texts(BytesMut);

impl Texts {
    fn append(&mut self, text: &[u8]) -> Bytes {
        if self.0.capacity() < text.len() {
            self.0 = BytesMut::with_capacity(text.len().max(PIECE));
        }
        self.0.extend_from_slice(text);
        self.0.split().freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_contiguous_and_long_ones_separate() {
        let mut texts = Texts::default();

        let [one, two, long, three] =
            ["one", "two", &"x".repeat(PIECE), "three"].map(|it| texts.append(it.as_bytes()));

        assert_eq!(one, "one");
        assert_eq!(two, "two");
        assert_eq!(long.len(), PIECE);
        assert_eq!(three, "three");
        assert_eq!(one.as_ptr().wrapping_add(3), two.as_ptr());
    }
}
