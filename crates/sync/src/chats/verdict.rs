//! Choice between two versions of a chat: the later `updatedAt` wins, and of
//! equal times the incoming one, unless only the stored one is encrypted.
//! `writing.rs` of `storage-chats` calls it under the account's lock.

use pia_kernel::Timestamp;

use super::NewChat;

/// Stored state of a chat, or of a deleted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredChatState {
    /// Time of the last change, as reported by the document.
    pub updated_at: Timestamp,
    /// Time of the deletion, if it was deleted.
    pub deleted_at: Option<Timestamp>,
    /// True if only its owner's devices can read it.
    pub encrypted: bool,
}

/// Decision on a chat that is already stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatDecision {
    /// Incoming version replaces the stored one.
    Replaces,
    /// Incoming version is newer than the deletion, and restores the chat.
    Revives,
    /// The stored version stays.
    Loses,
    /// Chat was deleted after this version.
    Deleted,
}

impl NewChat {
    /// Decides between this chat and the stored one.
    pub fn decide_against(&self, stored: &StoredChatState) -> ChatDecision {
        if let Some(deleted_at) = stored.deleted_at {
            let later = self.updated_at > deleted_at;
            return if later { ChatDecision::Revives } else { ChatDecision::Deleted };
        }
        // An encrypted version is not replaced by a plain one of the same time.
        let downgrades = stored.encrypted && !self.encrypted;
        let wins = self.updated_at > stored.updated_at
            || (self.updated_at == stored.updated_at && !downgrades);
        if wins { ChatDecision::Replaces } else { ChatDecision::Loses }
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
    fn the_later_version_wins_and_of_equal_ones_the_last_received() {
        let stored_state =
            StoredChatState { updated_at: at(10), deleted_at: None, encrypted: false };

        let verdicts = [9, 10, 11].map(|it| new(it, false).decide_against(&stored_state));

        assert_eq!(verdicts, [ChatDecision::Loses, ChatDecision::Replaces, ChatDecision::Replaces]);
    }

    #[test]
    fn of_equal_versions_the_encrypted_one_wins() {
        let stored_state =
            |encrypted| StoredChatState { updated_at: at(10), deleted_at: None, encrypted };

        assert_eq!(new(10, true).decide_against(&stored_state(false)), ChatDecision::Replaces);
        assert_eq!(new(10, true).decide_against(&stored_state(true)), ChatDecision::Replaces);
        assert_eq!(new(10, false).decide_against(&stored_state(true)), ChatDecision::Loses);
        assert_eq!(new(11, false).decide_against(&stored_state(true)), ChatDecision::Replaces);
    }

    #[test]
    fn only_a_version_after_the_deletion_revives_a_chat() {
        let stored_state =
            StoredChatState { updated_at: at(10), deleted_at: Some(at(20)), encrypted: true };

        let verdicts = [10, 20, 21].map(|it| new(it, false).decide_against(&stored_state));

        assert_eq!(verdicts, [ChatDecision::Deleted, ChatDecision::Deleted, ChatDecision::Revives]);
    }
}
