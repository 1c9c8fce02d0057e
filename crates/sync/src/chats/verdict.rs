//! Choice between two versions of a chat.

use pia_kernel::Timestamp;

use super::NewChat;

/// Stored state of a chat, or of a deleted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptChat {
    /// Time at which it says that it was changed.
    pub updated_at: Timestamp,
    /// Time at which it was deleted, if it was.
    pub deleted_at: Option<Timestamp>,
    /// True if only its owner's devices can read it.
    pub encrypted: bool,
}

/// Decision on a chat where one is stored already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It takes the other's place.
    Replaces,
    /// It is newer than the deletion, and stands there again.
    Revives,
    /// The other stays.
    Loses,
    /// It was deleted after this version.
    Deleted,
}

impl NewChat {
    /// Decides on this chat where that one is stored.
    pub fn against(&self, kept: &KeptChat) -> Verdict {
        if let Some(deleted_at) = kept.deleted_at {
            let later = self.updated_at > deleted_at;
            return if later { Verdict::Revives } else { Verdict::Deleted };
        }
        // Once encrypted, a version is not told in plain again.
        let bares = kept.encrypted && !self.encrypted;
        let wins =
            self.updated_at > kept.updated_at || (self.updated_at == kept.updated_at && !bares);
        if wins { Verdict::Replaces } else { Verdict::Loses }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chats::ChatId;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(micros)
    }

    fn new(updated_at: i64, encrypted: bool) -> NewChat {
        NewChat {
            id: ChatId(uuid::Uuid::nil()),
            created_at: at(0),
            updated_at: at(updated_at),
            accessed_at: None,
            encrypted,
            text: b"{}".to_vec(),
        }
    }

    #[test]
    fn the_later_version_stays_and_of_equal_ones_the_last_that_came() {
        let kept = KeptChat { updated_at: at(10), deleted_at: None, encrypted: false };

        let verdicts = [9, 10, 11].map(|it| new(it, false).against(&kept));

        assert_eq!(verdicts, [Verdict::Loses, Verdict::Replaces, Verdict::Replaces]);
    }

    #[test]
    fn of_equal_versions_the_encrypted_one_stays() {
        let kept = |encrypted| KeptChat { updated_at: at(10), deleted_at: None, encrypted };

        assert_eq!(new(10, true).against(&kept(false)), Verdict::Replaces);
        assert_eq!(new(10, true).against(&kept(true)), Verdict::Replaces);
        assert_eq!(new(10, false).against(&kept(true)), Verdict::Loses);
        assert_eq!(new(11, false).against(&kept(true)), Verdict::Replaces);
    }

    #[test]
    fn only_what_is_later_than_the_deletion_comes_back() {
        let kept = KeptChat { updated_at: at(10), deleted_at: Some(at(20)), encrypted: true };

        let verdicts = [10, 20, 21].map(|it| new(it, false).against(&kept));

        assert_eq!(verdicts, [Verdict::Deleted, Verdict::Deleted, Verdict::Revives]);
    }
}
