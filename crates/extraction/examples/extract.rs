//! Child of the tests, as a process of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(failure) = std::env::args().nth(1) else {
        return pia_extraction::run_child().into();
    };
    match failure.as_str() {
        "hang" => std::thread::sleep(std::time::Duration::from_mins(1)),
        "flood" => drop(std::io::copy(&mut std::io::repeat(b'x'), &mut std::io::stdout())),
        "abort" => std::process::abort(),
        _ => {}
    }
    ExitCode::FAILURE
}
