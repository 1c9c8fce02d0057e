//! Limit on the length of frames that holds before all of one has arrived. It
//! reads the heads of frames only, and passes all bytes on unchanged; heads may
//! be cut anywhere.

use actix_web::dev;
use actix_web::error::PayloadError;
use futures_util::StreamExt;

/// Bit of a mask, and those of a length, in the second byte of a head.
const MASK: u8 = 0x80;
const LENGTH: u8 = 0x7f;
/// Length of a mask.
const MASK_BYTES: u64 = 4;

/// Returns the bytes of a WebSocket up to the head of a frame that is too long,
/// which ends them with an error.
///
/// The limit of `actix-ws` applies to frames that have arrived: until then it would
/// store whatever a client sends.
pub(crate) fn limit_frames(payload: dev::Payload, max_bytes: u64) -> dev::Payload {
    let mut frames = FrameLengths::default();
    let limited = payload.map(move |bytes| {
        let bytes = bytes?;
        if frames.pass(&bytes, max_bytes) { Ok(bytes) } else { Err(PayloadError::Overflow) }
    });
    dev::Payload::Stream { payload: Box::pin(limited) }
}

/// Position in a stream of frames.
#[derive(Debug, Default)]
struct FrameLengths {
    /// Beginning of a head that has not arrived yet.
    head: Vec<u8>,
    /// Number of bytes of the present frame that have not arrived yet.
    remaining: u64,
}

impl FrameLengths {
    /// Passes over bytes. Returns false if a frame among them is too long.
    fn pass(&mut self, mut bytes: &[u8], max_bytes: u64) -> bool {
        loop {
            let length = usize::try_from(self.remaining).unwrap_or(usize::MAX).min(bytes.len());
            let (content, others) = bytes.split_at_checked(length).unwrap_or((bytes, &[]));
            self.remaining -= content.len() as u64;
            let Some((next, others)) = others.split_first() else { return true };

            bytes = others;
            self.head.push(*next);
            let Some(length) = content_length(&self.head) else { continue };
            if length > max_bytes {
                return false;
            }

            let is_masked = self.head.get(1).is_some_and(|it| it & MASK != 0);
            self.remaining = length + if is_masked { MASK_BYTES } else { 0 };
            self.head.clear();
        }
    }
}

/// Returns the length of a frame's content, once that has arrived.
fn content_length(head: &[u8]) -> Option<u64> {
    let extended = head.get(2..)?;
    match head.get(1)? & LENGTH {
        126 => extended.first_chunk().map(|it| u16::from_be_bytes(*it).into()),
        127 => extended.first_chunk().map(|it| u64::from_be_bytes(*it)),
        short => Some(short.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: u64 = 70_000;

    fn frame(length: usize) -> Vec<u8> {
        let mut frame = vec![0x82];
        match length {
            0..=125 => frame.push(MASK | u8::try_from(length).unwrap()),
            126..=65_535 => {
                frame.push(0xfe);
                frame.extend(u16::try_from(length).unwrap().to_be_bytes());
            }
            _ => {
                frame.push(0xff);
                frame.extend((length as u64).to_be_bytes());
            }
        }
        // Content that looks like the head of an endless frame.
        frame.extend(vec![0xff; 4 + length]);
        frame
    }

    #[test]
    fn frames_of_any_length_pass_up_to_the_limit_however_they_are_cut() {
        let frames: Vec<u8> =
            [0, 1, 125, 126, 65_535, 65_536, 70_000, 3].into_iter().flat_map(frame).collect();
        for size in [1, 2, 3, 7, 1000, frames.len()] {
            let mut lengths = FrameLengths::default();
            assert!(frames.chunks(size).all(|it| lengths.pass(it, MAX)), "{size}");
            assert_eq!(lengths.remaining, 0, "{size}");
            assert_eq!(lengths.head.len(), 0, "{size}");
        }
    }

    #[test]
    fn a_frame_that_is_too_long_is_refused_at_its_head() {
        for head in [
            &b"\x82\xff\x00\x00\x00\x00\x00\x01\x11\x71"[..],
            b"\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        ] {
            let mut lengths = FrameLengths::default();
            let (last, others) = head.split_last().unwrap();
            assert!(lengths.pass(others, MAX));
            assert!(!lengths.pass(&[*last], MAX));
        }
    }
}
