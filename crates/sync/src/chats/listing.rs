//! Pages of chats: oldest change first, by time and id.
//!
//! A tag names the version of the account's data and the request's own filters,
//! such as `c-<epoch>-v7-l<stamp>-snone-d0`. `if_none_match` accepts a tag only
//! if the request would produce it again; `storage-chats` compares the version
//! before it reads any chat.

use std::fmt;

use pia_kernel::{Cursor, Timestamp};
use uuid::Uuid;

use super::{ChatId, StoredChat};

/// Requested page of the chats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChatListRequest {
    /// Chats changed, or received, at or after this time: a device may push a chat
    /// that was written long before.
    pub since: Option<Timestamp>,
    /// Cursor that the page begins after; `None` for the first page.
    pub after: Option<Cursor>,
    /// Maximum number of chats on a page.
    pub limit: u16,
    /// True if deleted chats are listed too.
    pub deleted: bool,
}

/// Page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatPage {
    /// Version of the data that it was read from, or of an earlier one.
    pub version: ChatsVersion,
    /// Chats with their messages, in order. A chat that cannot be decrypted is missing.
    pub chats: Vec<StoredChat>,
    /// Deleted chats, in the same order; empty unless requested.
    pub deleted: Vec<ChatId>,
    /// Cursor behind which the next page begins; `None` if this is the last.
    pub next: Option<Cursor>,
}

/// Outcome of a list request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatListOutcome {
    /// List has not changed.
    Unchanged(ChatsVersion),
    /// Page of the chats.
    Page(ChatPage),
}

/// Version of an account's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChatsVersion {
    /// Epoch of the data; none before anything was written.
    pub epoch: Option<[u8; 16]>,
    /// Number of changes within the epoch.
    pub version: i64,
    /// Highest stamp. A server that was restored from a backup reaches the same
    /// version again, but not within the same microsecond.
    pub last_stamp: Timestamp,
}

/// Versions that the client already has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IfNoneMatch {
    /// Matches no version.
    Never,
    /// Matches any version.
    Any,
    /// Matches these versions.
    OneOf(Vec<ChatsVersion>),
}

impl IfNoneMatch {
    /// Returns whether the client already has the response for this state.
    pub fn contains(&self, version: &ChatsVersion) -> bool {
        match self {
            Self::Never => false,
            Self::Any => true,
            Self::OneOf(known) => known.contains(version),
        }
    }
}

impl ChatListRequest {
    /// Returns the opaque tag of the first page of a list, read at this version.
    pub fn tag(&self, version: &ChatsVersion) -> String {
        let since = self.since.map_or_else(|| "none".to_owned(), |it| it.micros().to_string());
        format!("c-{version}-s{since}-d{}", u8::from(self.deleted))
    }

    /// Parses the versions of a client that names these tags, without weakness
    /// marks and quotes. Only the first page of a list has one.
    pub fn if_none_match(&self, tags: &[&str]) -> IfNoneMatch {
        if self.after.is_some() {
            return IfNoneMatch::Never;
        }
        if tags.contains(&"*") {
            return IfNoneMatch::Any;
        }
        let versions = tags.iter().filter_map(|tag| {
            let version = ChatsVersion::parse(tag.strip_prefix("c-")?.rsplit_once("-s")?.0)?;
            (self.tag(&version) == *tag).then_some(version)
        });
        IfNoneMatch::OneOf(versions.collect())
    }
}

impl ChatsVersion {
    fn parse(text: &str) -> Option<Self> {
        let (epoch_text, numbers) = text.split_once("-v")?;
        let (version_text, stamp_text) = numbers.split_once("-l")?;
        let epoch = match epoch_text {
            "none" => None,
            _ => Some(Uuid::try_parse(epoch_text).ok()?.into_bytes()),
        };
        let version = version_text.parse().ok()?;
        let last_stamp = Timestamp::from_micros(stamp_text.parse().ok()?);
        Some(Self { epoch, version, last_stamp })
    }
}

impl fmt::Display for ChatsVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.epoch {
            Some(epoch) => write!(f, "{}", Uuid::from_bytes(epoch).simple())?,
            None => f.write_str("none")?,
        }
        write!(f, "-v{}-l{}", self.version, self.last_stamp.micros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: ChatListRequest =
        ChatListRequest { since: None, after: None, limit: 100, deleted: true };
    const NEVER: ChatsVersion =
        ChatsVersion { epoch: None, version: 0, last_stamp: Timestamp::UNIX_EPOCH };

    fn state() -> ChatsVersion {
        let last_stamp = Timestamp::from_micros(90);
        ChatsVersion { epoch: Some([0xab; 16]), version: 7, last_stamp }
    }

    fn since(micros: i64) -> ChatListRequest {
        ChatListRequest { since: Some(Timestamp::from_micros(micros)), ..ALL }
    }

    #[test]
    fn a_tag_encodes_request_and_version() {
        let epoch = "ab".repeat(16);

        assert_eq!(ALL.tag(&state()), format!("c-{epoch}-v7-l90-snone-d1"));
        assert_eq!(since(-5).tag(&state()), format!("c-{epoch}-v7-l90-s-5-d1"));
        let plain = ChatListRequest { deleted: false, ..since(5) };
        assert_eq!(plain.tag(&NEVER), "c-none-v0-l0-s5-d0");
    }

    #[test]
    fn a_tag_matches_only_the_same_request_and_version() {
        for request in [ALL, since(5), since(-5), since(0)] {
            for state in [state(), NEVER] {
                let tag = request.tag(&state);

                assert!(request.if_none_match(&["x", &tag]).contains(&state), "{tag}");
                assert!(!since(6).if_none_match(&[&tag]).contains(&state), "{tag}");
                let later = ChatsVersion { version: state.version + 1, ..state };
                assert!(!request.if_none_match(&[&tag]).contains(&later), "{tag}");
                let last_stamp = Timestamp::from_micros(91);
                let restored = ChatsVersion { last_stamp, ..state };
                assert!(!request.if_none_match(&[&tag]).contains(&restored), "{tag}");
            }
        }
        assert!(ALL.if_none_match(&["*"]).contains(&state()));
        assert!(!ALL.if_none_match(&[]).contains(&state()));
    }

    #[test]
    fn a_foreign_tag_matches_nothing() {
        let plain = ChatListRequest { deleted: false, ..ALL };
        let foreign_tag = plain.tag(&state());
        for tag in [
            "",
            "c-",
            "c--v-s",
            "c-x-v7-l0-snone-d1",
            &foreign_tag,
            "c-none-v+0-l0-snone-d1",
            "c-none-v0-snone-d1",
        ] {
            assert_eq!(ALL.if_none_match(&[tag]), IfNoneMatch::OneOf(Vec::new()), "{tag}");
        }
    }

    #[test]
    fn later_pages_are_always_returned() {
        let cursor = Cursor { at: Timestamp::UNIX_EPOCH, id: Uuid::nil() };
        let behind = ChatListRequest { after: Some(cursor), ..ALL };

        assert_eq!(behind.if_none_match(&["*", &behind.tag(&state())]), IfNoneMatch::Never);
    }
}
