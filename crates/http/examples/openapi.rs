//! Prints the OpenAPI description, for the snapshot in `docs/openapi.json`.

use std::io::Write;

use pia_web::{RouteTable, openapi};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (table, examples) = (RouteTable::new(pia_http::routes()), pia_http::examples()?);
    let document = openapi(&table, env!("CARGO_PKG_VERSION"), &examples);
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, &document)?;
    writeln!(out)?;
    Ok(())
}
