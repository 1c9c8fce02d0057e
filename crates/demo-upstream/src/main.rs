//! Command-line program of the demo upstream.

use std::error::Error;
use std::io::{Write, stdout};

use pia_demo_upstream::{Demo, DemoOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|it| it == "--help") {
        return Ok(writeln!(stdout(), "{}", DemoOptions::USAGE)?);
    }
    Demo::run(DemoOptions::parse(args)?, |url| {
        let mut out = stdout();
        writeln!(out, "{url}")?;
        out.flush()
    })?;
    Ok(())
}
