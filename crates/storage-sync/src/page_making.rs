//! Making a page of its rows.

use bytes::{Bytes, BytesMut};
use pia_kernel::UserId;
use pia_sealing::{PersonSeal, Salt, Sealer};
use pia_storage::DbError;
use pia_sync::{ItemPage, PageLimit, Row};

use crate::item_row::key;
use crate::page_query::PageRow;
use crate::sealed_bodies;

/// Size of an allocation, in bytes.
const PIECE: usize = 64 * 1024;

/// A page to which row after row is added. Each is opened as it comes, so that
/// what is sealed and what is opened are never there together.
pub(crate) struct PageBuilder {
    sealer: Sealer,
    user: UserId,
    room: PageLimit,
    seal: Option<PersonSeal>,
    texts: Texts,
    count: u64,
    bytes: u64,
    page: ItemPage,
}

impl PageBuilder {
    pub(crate) fn new(sealer: Sealer, user: UserId, room: PageLimit) -> Self {
        let (texts, page) = (Texts::default(), ItemPage::default());
        Self { sealer, user, room, seal: None, texts, count: 0, bytes: 0, page }
    }

    pub(crate) fn add(&mut self, row: PageRow) -> Result<(), DbError> {
        let PageRow { channel, id, stamp, body, salt } = row;
        self.count += 1;
        self.page.up_to = Some(stamp.0);
        let key = key(channel, id)?;
        if self.seal.is_none() {
            self.seal = seal(&self.sealer, self.user, salt)?;
        }
        let body = match (body, &self.seal) {
            (Some(sealed), Some(seal)) => {
                let length = sealed.len();
                let opened = sealed_bodies::open_in_place(seal, key, sealed);
                self.bytes += opened.as_ref().map_or(length, Vec::len) as u64;
                match opened {
                    Some(opened) => Some(self.texts.keep(&opened)),
                    // What is left out must not look as if it had been deleted.
                    None => return Ok(()),
                }
            }
            // Nothing of a person without a salt can be read.
            (Some(_), None) => return Err(DbError::Unreadable("person_salts")),
            (None, _) => None,
        };
        if key.channel.rules().is_pulled {
            self.page.rows.push(Row { key, stamp: stamp.0, body });
        }
        Ok(())
    }

    pub(crate) fn done(self) -> ItemPage {
        let Self { room, count, bytes, page, .. } = self;
        let cut = count >= u64::from(room.rows) || bytes >= room.bytes;
        ItemPage { is_truncated: cut, ..page }
    }
}

/// Returns the key that opens an account's data, unless nothing of it was ever
/// sealed.
pub(crate) fn seal(
    sealer: &Sealer,
    user: UserId,
    salt: Option<Vec<u8>>,
) -> Result<Option<PersonSeal>, DbError> {
    let salt = salt.and_then(|it| Some(Salt(it.try_into().ok()?)));
    Ok(salt.map(|it| sealer.with_salt(user, &it)).transpose()?)
}

/// Many texts in few pieces of memory: whoever lets go of all in a piece gives
/// it back.
#[derive(Default)]
struct Texts(BytesMut);

impl Texts {
    fn keep(&mut self, text: &[u8]) -> Bytes {
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
    fn texts_lie_one_behind_the_other_and_long_ones_apart() {
        let mut texts = Texts::default();

        let stored =
            ["one", "two", &"x".repeat(PIECE), "three"].map(|it| texts.keep(it.as_bytes()));

        let [one, two, long, three] = stored;
        assert_eq!(
            (&*one, &*two, long.len(), &*three),
            (&b"one"[..], &b"two"[..], PIECE, &b"three"[..])
        );
        assert_eq!(one.as_ptr().wrapping_add(3), two.as_ptr());
    }
}
