//! Invocations and uploaded streams that are open, in three sets: calls by the
//! client, its uploads, and calls by the server.
//!
//! Each has the same limit. Ids of clients are stored as long as the invocation
//! is open, hence their maximum length.

use std::collections::{HashMap, HashSet};

use crate::error::ProtocolError;

/// Maximum length of an id that a client chooses.
const MAX_ID_BYTES: usize = 128;

/// Open invocations of both sides, and streams that the client uploads.
#[derive(Debug)]
pub(super) struct Invocations {
    max_open: usize,
    /// Invocations by the client.
    open: HashMap<String, OpenInvocation>,
    /// Streams that the client uploads.
    uploads: HashSet<String>,
    /// Invocations by the server.
    pending: HashSet<String>,
    last_pending: u64,
}

/// Invocation by the client that is not completed.
#[derive(Debug)]
struct OpenInvocation {
    form: ReplyForm,
    canceled: bool,
    uploads: Vec<String>,
}

/// Forms of an invocation's response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyForm {
    Single,
    Stream,
}

impl Invocations {
    pub(super) fn new(max_open: usize) -> Self {
        Self {
            max_open,
            open: HashMap::new(),
            uploads: HashSet::new(),
            pending: HashSet::new(),
            last_pending: 0,
        }
    }

    /// Opens an invocation by the client that is to be completed.
    pub(super) fn open(
        &mut self,
        id: &str,
        form: ReplyForm,
        uploads: &[String],
    ) -> Result<(), ProtocolError> {
        check_id(id)?;
        if self.open.contains_key(id) {
            return Err(ProtocolError::DuplicateId);
        }
        if self.open.len() >= self.max_open {
            return Err(ProtocolError::TooManyInvocations);
        }
        self.open_uploads(uploads)?;
        let invocation = OpenInvocation { form, canceled: false, uploads: uploads.to_vec() };
        self.open.insert(id.to_owned(), invocation);
        Ok(())
    }

    /// Opens streams that the client uploads.
    pub(super) fn open_uploads(&mut self, ids: &[String]) -> Result<(), ProtocolError> {
        for id in ids {
            check_id(id)?;
            if self.uploads.len() >= self.max_open {
                return Err(ProtocolError::TooManyInvocations);
            }
            if !self.uploads.insert(id.clone()) {
                return Err(ProtocolError::DuplicateId);
            }
        }
        Ok(())
    }

    /// Returns whether a stream may have items.
    pub(super) fn is_uploading(&self, id: &str) -> bool {
        self.uploads.contains(id)
    }

    /// Ends a stream that the client uploads. Returns false if it is not open.
    pub(super) fn end_upload(&mut self, id: &str) -> bool {
        self.uploads.remove(id)
    }

    /// Marks an invocation as canceled. Returns false if it is not open, or
    /// already marked.
    pub(super) fn cancel(&mut self, id: &str) -> bool {
        self.open.get_mut(id).is_some_and(|it| !std::mem::replace(&mut it.canceled, true))
    }

    /// Returns whether the client accepts items of an invocation.
    pub(super) fn accepts_items(&self, id: &str) -> bool {
        self.open.get(id).is_some_and(|it| it.form == ReplyForm::Stream && !it.canceled)
    }

    /// Ends an invocation by the client, and its uploads. Returns the form of
    /// its response if it was open.
    pub(super) fn complete(&mut self, id: &str) -> Option<ReplyForm> {
        let invocation = self.open.remove(id)?;
        for upload in &invocation.uploads {
            self.uploads.remove(upload);
        }
        Some(invocation.form)
    }

    /// Opens an invocation by the server, and returns its id. Returns `None`
    /// if too many are pending.
    pub(super) fn open_pending(&mut self) -> Option<String> {
        if self.pending.len() >= self.max_open {
            return None;
        }
        self.last_pending += 1;
        // Differs from the numbers that clients give their streams.
        let id = format!("s{}", self.last_pending);
        self.pending.insert(id.clone());
        Some(id)
    }

    /// Ends an invocation by the server. Returns false if it is not pending.
    pub(super) fn end_pending(&mut self, id: &str) -> bool {
        self.pending.remove(id)
    }
}

fn check_id(id: &str) -> Result<(), ProtocolError> {
    if id.len() > MAX_ID_BYTES { Err(ProtocolError::IdTooLong) } else { Ok(()) }
}
