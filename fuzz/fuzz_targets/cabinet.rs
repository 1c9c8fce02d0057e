//! No file that is uploaded as a cabinet or certificate makes their parsers
//! panic.
//!
//! `RUSTC_BOOTSTRAP=1 cargo fuzz run cabinet -- -max_total_time=60`

#![no_main]

use libfuzzer_sys::fuzz_target;
use pia_authenticode::{SigningCertificate, verify_cabinet};

fuzz_target!(|file: &[u8]| {
    drop(verify_cabinet(file));
    drop(SigningCertificate::parse(file));
});
