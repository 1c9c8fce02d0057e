//! Frames of a fake upstream.

use bytes::Bytes;

use crate::ports::Frame;

pub(crate) fn pass(text: &str) -> Frame {
    Frame::Forward { bytes: Bytes::copy_from_slice(text.as_bytes()), events: 1 }
}

pub(crate) fn look(text: &str) -> Frame {
    Frame::Inspect(Bytes::copy_from_slice(text.as_bytes()))
}
