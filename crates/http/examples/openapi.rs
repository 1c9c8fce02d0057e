//! Prints the OpenAPI description, for the snapshot in `docs/openapi.json`.

use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let document = pia_http::document()?;
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, &document)?;
    writeln!(out)?;
    Ok(())
}
