//! Prints an OpenAPI document, for the snapshots in `docs/`: the public one, or
//! with the argument `admin` that of the admin routes.

use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let document = match std::env::args().nth(1).as_deref() {
        Some("admin") => pia_http::admin_document()?,
        _ => pia_http::document()?,
    };
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, &document)?;
    writeln!(out)?;
    Ok(())
}
