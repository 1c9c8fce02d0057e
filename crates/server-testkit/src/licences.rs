//! Licences that a server must refuse.

use std::time::Duration;

use pia_kernel::{Clock, SystemClock};
use pia_policy::{SigningKey, Terms};

use crate::harness::{licence, terms};

/// Returns a licence that is signed with a foreign key.
pub fn foreign() -> String {
    let key = SigningKey::generate().expect("a key");
    key.issue(&terms()).expect("a licence")
}

/// Returns a licence whose signature belongs to other terms.
pub fn forged() -> String {
    let small = licence(&Terms { max_users: Some(1), ..terms() });
    let large = licence(&Terms { max_users: None, ..terms() });
    let (_, signature) = small.rsplit_once('.').expect("a signature");
    let (signed, _) = large.rsplit_once('.').expect("a signature");
    format!("{signed}.{signature}")
}

/// Returns an expired licence.
pub fn ended() -> String {
    let ago = |seconds| SystemClock.now() - Duration::from_secs(seconds);
    licence(&Terms { issued_at: ago(100), expires_at: Some(ago(10)), ..terms() })
}
